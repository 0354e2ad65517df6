"""Measurements: latency, state, disorder, idle streams, aggregates, a match, and sweeps over them."""
