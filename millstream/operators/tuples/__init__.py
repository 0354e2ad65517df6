"""Operators on single tuples: duplicates, late data, and tuples that wait."""
