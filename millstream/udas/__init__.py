"""Aggregates that users define, in SQL or as classes of Python: their bodies as data, and what runs them."""
