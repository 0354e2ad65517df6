"""Streams without a source, into which queries and statements put rows."""
