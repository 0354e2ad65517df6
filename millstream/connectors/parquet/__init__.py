"""Files of Parquet."""
