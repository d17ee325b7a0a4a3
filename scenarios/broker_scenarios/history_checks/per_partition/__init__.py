"""Anomalies within one partition."""
