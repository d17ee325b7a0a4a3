"""Actions on the clients of a run."""
