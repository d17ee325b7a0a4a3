"""Streams groups: tasks of a topology for the instances of a Kafka Streams application (KIP-1071)."""
