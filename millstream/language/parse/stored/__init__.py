"""Views, stored tables and subscriptions, as statements and as they are read."""
