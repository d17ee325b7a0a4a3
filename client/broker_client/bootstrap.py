"""Parses bootstrap.servers. Mirrors ClientUtils.parseAndValidateAddresses and Utils.getHost.

Two addresses that Java accepts are refused: an empty host, which Java takes for this machine, and port 0.
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
    """Return the addresses in `host:port,host:port` or in a list; IPv6 addresses are in brackets.

    Raises:
        ConfigError: there is no address, or one of them is not valid.
    """
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
    """Resolve addresses as client.dns.lookup=resolve_canonical_bootstrap_servers_only does (KIP-235); waits for DNS.

    Replaces each name by the canonical names of its addresses, or by an address that has no name.

    Raises:
        ConfigError: none of the names can be resolved.
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
