"""Ports that stay their listener's own while it does not listen.

The system gives a port that nobody listens on to whoever asks next. A server that is stopped, to be started again,
could find another there; and a client that looks for it would talk to a stranger. A socket that is bound and does not
listen keeps the port: whoever connects is refused. On Linux it may stay beside the one that listens.
"""

from __future__ import annotations

import socket

from twisted.internet.abstract import isIPv6Address

__all__ = ["HeldPorts"]


class HeldPorts:
    """By interface and port, from the first time that somebody listens there until `release`."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], socket.socket] = {}

    def hold(self, interface: str, port: int) -> int:
        """Keep a port, or a free one for 0; answers it. What cannot be kept is left to who listens, to say why."""
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
        """Give all of them back."""
        for keeper in self._held.values():
            keeper.close()
        self._held.clear()
