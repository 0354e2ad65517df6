"""One file per workload: the same job, written for each engine."""
