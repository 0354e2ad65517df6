"""Definitions that last: the catalog in force, its store, and what binds stored texts again."""
