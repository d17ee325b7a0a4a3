"""Defects that store a producer's records in another order than they were sent."""
