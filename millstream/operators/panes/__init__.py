"""Windows of time over panes: a tuple is aggregated once, into its pane, and panes are merged into windows."""
