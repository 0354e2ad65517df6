"""Types of expressions, without Spark: which functions there are and what they make of what."""
