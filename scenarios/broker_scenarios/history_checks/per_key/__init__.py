"""Anomalies of one message key."""
