"""Conditions and values of a SELECT as expressions over Arrow columns: one file per family of functions."""
