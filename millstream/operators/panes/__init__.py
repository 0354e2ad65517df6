"""Windows of time: panes that are filled once, and what is answered from them."""
