"""Fingerprints: the structure of all that the state of a step depends on, and differences in words."""
