"""Progress of streams: punctuation and low-watermarks."""
