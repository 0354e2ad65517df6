"""Files of JSON, one object a line."""
