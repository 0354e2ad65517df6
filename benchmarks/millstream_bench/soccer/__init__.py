"""A soccer match with sensors in the shoes and in the ball: the DEBS 2013 Grand Challenge."""
