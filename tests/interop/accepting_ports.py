"""Ports of 127.0.0.1 for servers that must know theirs before they start."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

LOWEST_PORT = 10_000
PORTS_TRIED_MAX = 1_000


def accepts(port: int) -> bool:
    """Return True if a port of 127.0.0.1 accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that are free now; all are held until the last is known, so that they differ.

    Brokers take them only later: those that the system gives to outgoing connections would be gone by then at times.
    """
    given_out = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        for port in random.Random().sample(range(LOWEST_PORT, given_out), PORTS_TRIED_MAX):
            if len(ports) == count:
                return ports
            with contextlib.suppress(OSError):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                ports.append(port)
        raise AssertionError(f"{count} free ports among {PORTS_TRIED_MAX} between {LOWEST_PORT} and {given_out}")
