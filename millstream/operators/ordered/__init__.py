"""What needs tuples in order: rows, sessions, slides by tuple, the ordered merge."""
