"""Idempotence and transactions of a producer: TransactionManager and its request handlers."""
