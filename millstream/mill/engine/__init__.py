"""The engine of a mill, part by part: Spark, plans, streams, queries and how they start."""
