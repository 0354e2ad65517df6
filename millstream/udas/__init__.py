"""User-defined aggregates, in SQL or as Python classes: bodies as data, and the code that runs them."""
