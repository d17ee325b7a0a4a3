"""Defects of the client's view of the cluster."""
