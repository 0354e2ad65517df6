"""Generated rows: made once for each size and seed, then kept for the next run."""
