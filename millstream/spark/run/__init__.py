"""Queries that run: how they are started, sent marks, and watched."""
