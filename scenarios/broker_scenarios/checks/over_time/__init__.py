"""Checks of times: how stale, how stuck and how long unavailable."""
