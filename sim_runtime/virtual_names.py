"""Names and addresses of a simulated network, as `getaddrinfo` returns them."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sim_runtime.virtual_network import VirtualNetwork

__all__ = ["ANY_ADDRESS", "LOOPBACK", "AddressInfo", "address_of", "look_up"]

ANY_ADDRESS: Final = "0.0.0.0"
LOOPBACK: Final = "127.0.0.1"
_LOCALHOST: Final = ("localhost", LOOPBACK)

AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]


def address_of(network: VirtualNetwork, host: bytes | str | None, family: int = 0) -> str:
    """The address of a host of the network, by its name or address; without a host that of every interface.

    Raises:
        socket.gaierror: the name is unknown, or the family is not that of IPv4.
    """
    name = host.decode() if isinstance(host, bytes) else host
    if family not in {0, socket.AF_INET}:
        raise socket.gaierror(socket.EAI_FAMILY, f"{name}: this network has IPv4 alone")
    if not name or name == ANY_ADDRESS:
        return ANY_ADDRESS
    if name in _LOCALHOST:
        return LOOPBACK
    found = network.find_host(name)
    if found is None:
        raise socket.gaierror(socket.EAI_NONAME, f"{name}: no host of this network has that name or ip")
    return found.ip


def look_up(
    network: VirtualNetwork, host: bytes | str | None, port: bytes | str | int | None, family: int = 0
) -> list[AddressInfo]:
    """The one address of a host, as `getaddrinfo` has it. Raises socket.gaierror for another name."""
    address = address_of(network, host, family), int(port or 0)
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]
