"""Text to statements: the dialect on sqlglot, and every word accounted for."""
