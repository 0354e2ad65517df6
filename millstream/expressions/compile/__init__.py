"""Trees to what computes them."""
