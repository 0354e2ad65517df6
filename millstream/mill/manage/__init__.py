"""Statements that manage what is defined: queries are stopped and started, definitions replaced, mills resumed."""
