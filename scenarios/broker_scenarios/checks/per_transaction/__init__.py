"""Checks of operations as a whole: what a transaction reads and writes in several partitions."""
