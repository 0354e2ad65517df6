"""Statements to definitions and SELECTs with every name resolved."""
