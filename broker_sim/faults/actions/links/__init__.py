"""Actions on what travels between nodes and clients, and on listeners."""
