"""Checks of what clients send: one rule of the protocol per file. A scenario has those that its `expect` names."""
