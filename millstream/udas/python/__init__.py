"""Classes of Python as aggregates: the contract for users, their states and their errors."""
