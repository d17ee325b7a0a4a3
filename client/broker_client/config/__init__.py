"""The configuration of a producer: its keys as data, how values are read, what one key means to another."""
