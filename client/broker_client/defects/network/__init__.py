"""Defects of connections, requests and responses."""
