"""The Python that a body becomes, and what that calls while it runs."""
