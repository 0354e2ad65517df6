"""Queries of Spark that run: started, told of time and of their end, watched."""
