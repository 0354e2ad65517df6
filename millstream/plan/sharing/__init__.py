"""Queries that share the reading of a stream: what each does with the tuples, or why it runs by itself."""
