"""Idempotence and transactions of a producer: ProducerIdState and its request handlers."""
