"""Anomalies that only time shows."""
