"""Engines side by side, each in a process of its own, and what is told of them."""
