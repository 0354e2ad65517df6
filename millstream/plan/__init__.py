"""The logical algebra, one ordered tuple of rewrite passes, and EXPLAIN."""
