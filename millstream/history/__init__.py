"""Kept history: the log of a stream, in columnar segments, and its index."""
