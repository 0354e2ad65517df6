"""The folder of a mill: where everything lies in it, under which names, and who may read it."""
