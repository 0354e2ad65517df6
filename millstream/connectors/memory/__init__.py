"""Rows for this process."""
