"""Benchmarks and the demo of Millstream: workloads that several engines run, and the data for them."""
