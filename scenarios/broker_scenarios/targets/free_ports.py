"""Ports for servers that must know theirs before they start."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

__all__ = ["free_ports"]

HOST: Final = "127.0.0.1"
LOWEST_PORT: Final = 10_000
PORTS_TRIED_MAX: Final = 1_000
OUTGOING_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
OUTGOING_FIRST: Final = 32_768
"""The first port that Linux gives to outgoing connections if it is not configured; other systems have higher ones."""


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that are free now; all are held until the last is known, so that they differ.

    Brokers take them only later: those that the system gives to outgoing connections would be gone by then at times.
    They are what is left where the system gives out all.

    Raises:
        OSError: no port is free.
    """
    given_out = int(OUTGOING_RANGE.read_text().split()[0]) if OUTGOING_RANGE.exists() else OUTGOING_FIRST
    below = range(LOWEST_PORT, given_out)
    tried = random.Random().sample(below, min(len(below), PORTS_TRIED_MAX))
    with ExitStack() as held:
        ports: list[int] = []
        for port in tried:
            if len(ports) == count:
                break
            with suppress(OSError):
                held.enter_context(socket.socket()).bind((HOST, port))
                ports.append(port)
        while len(ports) < count:
            held.enter_context(any_port := socket.socket()).bind((HOST, 0))
            ports.append(int(any_port.getsockname()[1]))
        return ports
