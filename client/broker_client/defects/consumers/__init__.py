"""Defects of consumers: positions, isolation and membership."""
