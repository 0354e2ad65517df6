"""Tuples that pass or wait, each by itself."""
