"""Written expressions to programs over Arrow."""
