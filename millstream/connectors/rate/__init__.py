"""Numbers that Spark makes by itself, so many a second."""
