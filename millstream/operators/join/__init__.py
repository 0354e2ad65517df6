"""Joins of streams within time, and look-ups in tables."""
