"""Where tuples come from and go to: one folder per kind of source or sink."""
