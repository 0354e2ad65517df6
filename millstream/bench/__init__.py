"""Benchmarks: one file per workload, each run by several engines side by side and told as a ratio."""
