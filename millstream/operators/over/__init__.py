"""Aggregates over the frame that ends at each tuple."""
