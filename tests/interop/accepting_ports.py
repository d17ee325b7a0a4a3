"""The check that a server accepts connections."""

from __future__ import annotations

import socket


def accepts(port: int) -> bool:
    """Return True if a port of 127.0.0.1 accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
