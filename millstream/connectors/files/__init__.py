"""Files: CSV, JSON and Parquet, read as they appear, and written each batch once."""
