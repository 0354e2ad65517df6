"""Conditions and values over Arrow tables, as plain data that travels to the processes of Spark."""
