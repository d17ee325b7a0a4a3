"""Share groups: members that share partitions, and the initialization of share partitions (KIP-932)."""
