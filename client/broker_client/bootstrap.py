"""bootstrap.servers: addresses to begin with. Mirrors ClientUtils.parseAndValidateAddresses and Utils.getHost.

Two addresses that Java takes are refused: an empty host, which it reads as this machine, and port 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parse_bootstrap_servers"]

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


def _address(text: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) <= PORT_MAX:
        raise ConfigError(
            f"bootstrap.servers: {text!r} is no address, expected 'host:port' with a port from 1 to {PORT_MAX}"
        )
    return found[1], int(found[2])
