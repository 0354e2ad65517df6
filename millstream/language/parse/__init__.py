"""Text to statements: the dialect on sqlglot, and the checks that no word is ignored."""
