"""Checks of parsed text: no word and no argument is passed over."""
