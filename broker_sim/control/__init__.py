"""The journal: the events of a cluster, in memory and as a file."""
