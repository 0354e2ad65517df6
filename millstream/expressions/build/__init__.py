"""Bound expressions of sqlglot to the tree of `millstream.expressions.tree`: one function for each kind of node."""
