"""What a name means: streams, tables, sinks and queries, and their schemas."""
