"""Loops compiled by numba, for bodies that allow it."""
