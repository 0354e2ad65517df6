"""Plans to frames of Spark: one function per node."""
