"""Extracts the TCP segment of a packet. Mirrors RFC 791, RFC 8200, RFC 9293 and libpcap's link types.

Reads Ethernet (with VLAN tags), BSD loopback, Linux cooked (SLL and SLL2) and raw IP. Packets that are
not TCP, or too short, give None.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

_IPV4, _IPV6 = 0x0800, 0x86DD
_VLAN_TYPES: Final = (0x8100, 0x88A8, 0x9100)
_TCP: Final = 6
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION = 0, 43, 44, 51, 60
_EXTENSIONS_MAX: Final = 16


class Endpoint(NamedTuple):
    """One end of a connection."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A TCP segment; `cut` is the number of payload bytes that the capture did not keep."""

    source: Endpoint
    destination: Endpoint
    sequence: int
    acknowledgement: int
    flags: int
    payload: bytes
    cut: int


def segment_of(link_type: int, data: bytes) -> Segment | None:
    """The TCP segment of a packet; None when it holds none. Raises KeyError for an unknown link type."""
    reader = LINK_TYPES[link_type][1]
    try:
        version, position = reader(data)
        if version == _IPV4:
            return _ipv4(data, position)
        return _ipv6(data, position) if version == _IPV6 else None
    except (struct.error, IndexError):
        return None


def _ethernet(data: bytes) -> tuple[int, int]:
    return _ether_type(data, 12)


def _ether_type(data: bytes, position: int) -> tuple[int, int]:
    (kind,) = struct.unpack_from(">H", data, position)
    while kind in _VLAN_TYPES:
        position += 4
        (kind,) = struct.unpack_from(">H", data, position)
    return kind, position + 2


def _loopback(data: bytes) -> tuple[int, int]:
    # The address family is in the byte order of the machine that captured; its numbers differ by system.
    family = max(data[0], data[3])
    return {2: _IPV4, 10: _IPV6, 24: _IPV6, 28: _IPV6, 30: _IPV6}.get(family, 0), 4


def _cooked(data: bytes) -> tuple[int, int]:
    return _ether_type(data, 14)


def _cooked_2(data: bytes) -> tuple[int, int]:
    (kind,) = struct.unpack_from(">H", data)
    return (kind, 20) if kind not in _VLAN_TYPES else _ether_type(data, 22)


def _raw(data: bytes) -> tuple[int, int]:
    return {4: _IPV4, 6: _IPV6}.get(data[0] >> 4, 0), 0


LINK_TYPES: Final[Mapping[int, tuple[str, Callable[[bytes], tuple[int, int]]]]] = {
    0: ("NULL", _loopback),
    1: ("ETHERNET", _ethernet),
    12: ("RAW", _raw),
    14: ("RAW", _raw),
    101: ("RAW", _raw),
    108: ("LOOP", _loopback),
    113: ("LINUX_SLL", _cooked),
    228: ("IPV4", _raw),
    229: ("IPV6", _raw),
    276: ("LINUX_SLL2", _cooked_2),
}
"""The known link types: libpcap's name, and a function that finds the protocol and the position of its header."""


def _ipv4(data: bytes, position: int) -> Segment | None:
    total, _, fragment, _, protocol = struct.unpack_from(">HHHBB", data, position + 2)
    header = (data[position] & 0x0F) * 4
    if protocol != _TCP or fragment & 0x3FFF or header < 20:
        return None
    source, destination = (".".join(map(str, data[at : at + 4])) for at in (position + 12, position + 16))
    # With segmentation by the network card, the sender captures packets of length 0.
    stop = position + total if total else len(data)
    return _tcp(data, position + header, stop, source, destination)


def _ipv6(data: bytes, position: int) -> Segment | None:
    length, kind, _ = struct.unpack_from(">HBB", data, position + 4)
    source, destination = (
        str(IPv6Address(data[at : at + 16].ljust(16, b"\0"))) for at in (position + 8, position + 24)
    )
    stop = position + 40 + length if length else len(data)
    position += 40
    for _ in range(_EXTENSIONS_MAX):
        if kind == _TCP:
            return _tcp(data, position, stop, source, destination)
        if kind in {_HOP_BY_HOP, _ROUTING, _DESTINATION}:
            kind, position = data[position], position + (data[position + 1] + 1) * 8
        elif kind == _AUTHENTICATION:
            kind, position = data[position], position + (data[position + 1] + 2) * 4
        elif kind == _FRAGMENT and not struct.unpack_from(">H", data, position + 2)[0] & 0xFFF9:
            kind, position = data[position], position + 8
        else:
            return None
    return None


def _tcp(data: bytes, position: int, stop: int, source: str, destination: str) -> Segment | None:
    from_port, to_port, sequence, acknowledgement, offset, flags = struct.unpack_from(">HHIIBB", data, position)
    start = position + (offset >> 4) * 4
    if start < position + 20 or start > stop:
        return None
    payload = data[start:stop]
    return Segment(
        source=Endpoint(source, from_port),
        destination=Endpoint(destination, to_port),
        sequence=sequence,
        acknowledgement=acknowledgement,
        flags=flags,
        payload=payload,
        cut=stop - start - len(payload),
    )
