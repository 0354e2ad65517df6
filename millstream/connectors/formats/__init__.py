"""Files as bytes: lines, records and headers of text, Parquet, and why a row is rejected."""
