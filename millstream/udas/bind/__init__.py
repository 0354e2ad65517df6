"""Bodies of aggregates in SQL to typed trees: names, types and queries over their tables."""
