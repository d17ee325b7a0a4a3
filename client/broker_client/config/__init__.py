"""The configurations of clients: keys as data, parsing, validation, and rules across keys."""
