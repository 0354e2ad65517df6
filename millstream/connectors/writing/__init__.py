"""Parts that sinks share: the contract, the text of values, rows for this process, a sink over several sinks."""
