"""The host: session, sources, sinks, and the lowering of plans to Spark."""
