"""Logs on disk, in Kafka's own files."""
