"""Code within Spark's tasks: packets, the stage that hosts an operator, and copies of its state."""
