"""Flink SQL: its environment, a session of it, and the jobs."""
