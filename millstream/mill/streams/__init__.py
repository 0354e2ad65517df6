"""The streams of a mill that rows come into: readers of kept streams, ports, rows put in by statements."""
