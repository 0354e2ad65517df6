"""Aggregates that users define in SQL: their bodies as data, and the Python that is generated from them."""
