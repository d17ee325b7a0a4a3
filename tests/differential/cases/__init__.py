"""The cases, one module an API."""
