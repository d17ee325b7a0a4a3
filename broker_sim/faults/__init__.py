"""Faults that a user injects on purpose: where requests can be held, answered with an error, cut or lost."""
