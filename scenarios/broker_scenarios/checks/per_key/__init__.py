"""Checks of the records of one message key, across partitions."""
