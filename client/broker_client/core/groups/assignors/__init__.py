"""The partition assignors of classic consumer groups. Mirrors the implementations of ConsumerPartitionAssignor."""
