"""Defects that give a record no outcome, a wrong one, or two."""
