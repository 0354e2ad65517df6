"""Kept streams: what a source delivers is landed in a log, and queries read that."""
