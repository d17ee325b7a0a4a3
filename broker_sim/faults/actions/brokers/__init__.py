"""Actions on the process of a broker or controller."""
