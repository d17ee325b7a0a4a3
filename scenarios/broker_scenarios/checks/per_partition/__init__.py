"""Checks of one partition: its sends and reads, joined with what its log holds. Spark groups by this scope."""
