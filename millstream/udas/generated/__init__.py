"""The Python code made from the body of an aggregate, and the functions that it calls."""
