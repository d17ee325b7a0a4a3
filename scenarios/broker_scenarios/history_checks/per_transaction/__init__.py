"""Anomalies of transactions."""
