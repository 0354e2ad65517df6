"""The clauses of windows: brackets, OVER, EMIT, table functions."""
