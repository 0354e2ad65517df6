"""Calls in SELECTs: of built-in aggregates, of those of users, and the last check of them all."""
