"""The NEXMark queries, run by several engines."""
