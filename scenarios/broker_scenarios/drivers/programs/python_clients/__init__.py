"""Drivers of Python clients: only the standard library and the client are needed, of any version."""
