"""Checks of the order in which one process sends to a partition and polls it."""
