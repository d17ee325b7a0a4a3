"""Defects of sequence numbers and producer epochs, and of idempotence."""
