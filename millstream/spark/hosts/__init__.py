"""Hosts: a Spark query that reads a stream once for many queries, its members, which travel as data."""
