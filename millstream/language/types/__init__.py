"""Types of expressions, without Spark: the functions, the types of their arguments and of their results."""
