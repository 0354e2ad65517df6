"""Tuples matched with registrations: an index of what the registrations ask for."""
