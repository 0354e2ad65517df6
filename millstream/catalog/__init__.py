"""Definitions by name: streams, tables, sinks, queries, aggregates, and their schemas."""
