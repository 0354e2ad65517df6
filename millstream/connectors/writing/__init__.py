"""What sinks have in common: the contract, how values are written, rows for this process, a sink over several."""
