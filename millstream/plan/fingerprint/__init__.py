"""What a step's state is good for: structures of all that it depends on, compared and told apart in words."""
