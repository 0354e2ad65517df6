"""The algebra of aggregates: the contract, and one file per built-in."""
