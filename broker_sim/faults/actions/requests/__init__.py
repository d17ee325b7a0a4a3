"""Actions on a request or its response."""
