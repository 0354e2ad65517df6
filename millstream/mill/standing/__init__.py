"""Standing queries by the thousand: templates that run, their registrations, and the answers of each."""
