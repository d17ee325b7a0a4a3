"""Parses addresses as Java does, without a name server. Mirrors InetAddress.getByName.

IPv4 in one to four parts (the last one fills what is left), IPv6 with or without brackets, and `localhost`.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address

__all__ = ["is_address_or_host", "normal_address"]

LOCALHOST = "localhost"
_PARTS_MAX = 4


def is_address_or_host(text: str) -> bool:
    """Return True for a valid address; a host name that needs a name server is none here."""
    return normal_address(text) is not None


def normal_address(text: str) -> str | None:
    """The address as a connection shows it, None when there is none."""
    if text == LOCALHOST:
        return "127.0.0.1"
    if text.startswith("[") and text.endswith("]"):
        return _ipv6(text[1:-1])
    return _ipv4(text) or _ipv6(text)


def _ipv6(text: str) -> str | None:
    if "%" in text:
        return None
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return None
    mapped = address.ipv4_mapped
    return str(address if mapped is None else mapped)


def _ipv4(text: str) -> str | None:
    parts = text.split(".")
    if len(parts) > _PARTS_MAX or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    numbers = [int(part) for part in parts]
    last_limit = 1 << 8 * (_PARTS_MAX + 1 - len(numbers))
    if any(number > 0xFF for number in numbers[:-1]) or numbers[-1] >= last_limit:
        return None
    value = numbers[-1]
    for index, number in enumerate(numbers[:-1]):
        value |= number << 8 * (_PARTS_MAX - 1 - index)
    return str(IPv4Address(value))
