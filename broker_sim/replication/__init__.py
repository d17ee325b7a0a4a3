"""Partitions, replicas, ISR, purgatories and the links between brokers."""
