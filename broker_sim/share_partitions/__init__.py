"""Share partitions on the leaders of their partitions: records in delivery, acquisition locks, sessions (KIP-932)."""
