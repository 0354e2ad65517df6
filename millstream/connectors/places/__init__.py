"""The places of sources and sinks: paths, their aliases for Spark, bad files, and the folders of queries."""
