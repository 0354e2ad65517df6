"""Operators over Arrow tables: they know neither Spark nor the catalog, and keep their state as named blobs."""
