"""bootstrap.servers: addresses to begin with. Mirrors ClientUtils.parseAndValidateAddresses and Utils.getHost.

Two addresses that Java takes are refused: an empty host, which it reads as this machine, and port 0.
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Final

from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["canonical_servers", "parse_bootstrap_servers"]

PORT_MAX = 65535
_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]+)\]?:([0-9]+)")


def parse_bootstrap_servers(value: object) -> tuple[tuple[str, int], ...]:
    """Read `host:port,host:port`, or a list of such; IPv6 addresses stand in brackets."""
    if isinstance(value, str):
        texts: Iterable[object] = value.split(",") if value.strip() else ()
    elif isinstance(value, (list, tuple)):
        texts = value
    else:
        raise ConfigError(f"bootstrap.servers={value!r}: expected 'host:port,host:port' or a list of such")
    addresses = tuple(_address(str(text).strip()) for text in texts)
    if not addresses:
        raise ConfigError(f"bootstrap.servers={value!r}: no address in it, expected 'host:port'")
    return addresses


def canonical_servers(servers: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """What client.dns.lookup=resolve_canonical_bootstrap_servers_only makes of addresses (KIP-235); it waits for DNS.

    Each name becomes the canonical names of its addresses, an address itself where it has no name.
    """
    found: dict[tuple[str, int], None] = {}
    for host, port in servers:
        try:
            resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            continue
        for *_, address in resolved:
            found[socket.getnameinfo(address, socket.NI_NUMERICSERV)[0], port] = None
    if not found:
        listed = ",".join(f"{host}:{port}" for host, port in servers)
        raise ConfigError(f"bootstrap.servers={listed!r}: none of these names can be resolved")
    return tuple(found)


def _address(text: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) <= PORT_MAX:
        raise ConfigError(
            f"bootstrap.servers: {text!r} is no address, expected 'host:port' with a port from 1 to {PORT_MAX}"
        )
    return found[1], int(found[2])
