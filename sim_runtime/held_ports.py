"""Ports that stay reserved for their listener while it does not listen.

The system may give a port without a listener to another process. A stopped server could then not start again on its
port, and its clients would connect to the wrong process. A bound socket that does not listen keeps the port:
connections to it are refused. On Linux it can coexist with the listening socket.
"""

from __future__ import annotations

import socket

from twisted.internet.abstract import isIPv6Address

__all__ = ["HeldPorts"]


class HeldPorts:
    """Bound sockets by interface and port, from the first listener there until `release`."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], socket.socket] = {}

    def hold(self, interface: str, port: int) -> int:
        """Reserve a port, or a free one for 0, and return it. If that fails, the listener raises the error later."""
        if (interface, port) in self._held:
            return port
        keeper = socket.socket(socket.AF_INET6 if isIPv6Address(interface) else socket.AF_INET)
        try:
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            keeper.bind((interface, port))
        except OSError:
            keeper.close()
            return port
        bound = int(keeper.getsockname()[1])
        self._held[interface, bound] = keeper
        return bound

    def release(self) -> None:
        """Release all ports."""
        for keeper in self._held.values():
            keeper.close()
        self._held.clear()
