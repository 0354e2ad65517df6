"""ESL text to typed statements: dialect on sqlglot, binder, errors that point at the text."""
