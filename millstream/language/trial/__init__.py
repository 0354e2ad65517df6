"""The trial run: a script is bound before its first statement runs, and Spark checks the calls that only it can."""
