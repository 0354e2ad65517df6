"""Where sources and sinks are: paths, their aliases for Spark, bad files, and the folders of queries."""
