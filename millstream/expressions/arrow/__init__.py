"""Expressions over Arrow columns: one file per family of functions. No SQL and no catalog here."""
