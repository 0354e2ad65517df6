"""What runs inside of the tasks of Spark: packing, the stage that hosts an operator, its copy of state."""
