"""Spark's process: how it is started, spoken to and ended."""
