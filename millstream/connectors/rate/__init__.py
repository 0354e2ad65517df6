"""Rows made by a clock, so many a second."""
