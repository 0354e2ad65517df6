"""The host: Spark's process, plans lowered to frames, stages within tasks, and queries that run."""
