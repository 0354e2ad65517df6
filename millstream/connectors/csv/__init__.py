"""Files of CSV."""
