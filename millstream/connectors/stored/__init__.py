"""Rows that are kept in the home: stored tables and views."""
