"""Templates and registrations, as statements and as they are read."""
