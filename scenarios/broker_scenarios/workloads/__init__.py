"""Loads of the producers, computed from a seed: one kind per file."""
