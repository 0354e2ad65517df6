"""A whole script bound before its first statement runs, and the calls in it that Spark is to judge."""
