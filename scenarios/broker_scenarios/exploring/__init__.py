"""Enumerates the schedules of a tiny scenario: the orders in which messages arrive, and the points of a crash."""
