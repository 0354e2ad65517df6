"""Operators that need tuples in order: windows of rows, sessions, slides by tuple, the ordered merge."""
