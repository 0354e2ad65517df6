"""Rows that are computed and discarded, for measuring."""
