"""Checks of what clients hold and block: memory that comes back twice, callbacks that wait for themselves."""
