"""Anomalies within one process and partition."""
