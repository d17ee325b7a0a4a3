"""bootstrap.servers: addresses to begin with. Mirrors ClientUtils.parseAndValidateAddresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parse_bootstrap_servers"]

PORT_MAX = 65535


def parse_bootstrap_servers(value: object) -> tuple[tuple[str, int], ...]:
    """Read `host:port,host:port`, or a list of such; IPv6 addresses stand in brackets."""
    if isinstance(value, str):
        texts: Iterable[object] = value.split(",")
    elif isinstance(value, (list, tuple)):
        texts = value
    else:
        raise ConfigError(f"bootstrap.servers={value!r}: expected 'host:port,host:port' or a list of such")
    addresses = tuple(_address(str(text).strip()) for text in texts if str(text).strip())
    if not addresses:
        raise ConfigError(f"bootstrap.servers={value!r}: no address in it, expected 'host:port'")
    return addresses


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if "://" in host:
        host = host.split("://", 1)[1]
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not port.isdigit() or not 0 < int(port) <= PORT_MAX:
        raise ConfigError(
            f"bootstrap.servers: {text!r} is no address, expected 'host:port' with a port from 1 to {PORT_MAX}"
        )
    return host, int(port)
