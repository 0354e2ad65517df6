"""The hosts of a mill: Spark queries that read one stream for several queries."""
