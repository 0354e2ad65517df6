"""Lines pushed over TCP: a port, an append-only log, and the source that reads it."""
