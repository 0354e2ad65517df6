"""User-defined aggregates that are measured, in their forms."""
