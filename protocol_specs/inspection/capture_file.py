"""Packets of a capture file, one by one: classic libpcap (both byte orders, micro- and nanoseconds) and pcapng.

Mirrors the file formats of libpcap and of draft-ietf-opsawg-pcapng. Each length is compared with a limit
before it is used, and memory holds one packet at a time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from protocol_specs.inspection.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKET_BYTES_MAX: Final = 16 * 1024 * 1024
"""The size limit of one packet or block; that of libpcap is 256 KiB."""

INTERFACES_MAX: Final = 4096
"""The limit on interfaces in a section of a pcapng file."""

_READ_BYTES: Final = 64 * 1024
_CLASSIC: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_INTERFACE_BLOCK, _PACKET_BLOCK, _SIMPLE_PACKET_BLOCK, _ENHANCED_PACKET_BLOCK = 1, 2, 3, 6
_OPTION_RESOLUTION, _OPTION_OFFSET = 9, 14
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One packet, as far as the capture kept it. `number` counts from 1; `time_ns` is since 1970, None if unknown."""

    number: int
    time_ns: int | None
    link_type: int
    data: bytes


def is_capture(start: bytes) -> bool:
    """True if a file with this beginning is a capture."""
    return start[:4] in _CLASSIC or start[:4] == _SECTION


def read_packets(file: IO[bytes], source: str) -> Iterator[Packet]:
    """The packets in order. Raises InputError where the file is no capture or ends too early."""
    reader = _Reader(file, source)
    magic = reader.read(4, "its magic")
    if magic in _CLASSIC:
        return _classic(reader, *_CLASSIC[magic])
    if magic == _SECTION:
        return _next_generation(reader)
    kinds = "a1b2c3d4 or a1b23c4d (pcap, either byte order) or 0a0d0d0a (pcapng)"
    hint = ": it is gzip, unpack it first" if magic[:2] == b"\x1f\x8b" else ""
    raise InputError(source, "byte 0", f"no capture begins with {magic.hex()}{hint or f', but with {kinds}'}")


class _Reader:
    def __init__(self, file: IO[bytes], source: str) -> None:
        self.file = file
        self.source = source
        self.position = 0
        self.packets = 0

    def refuse(self, reason: str, position: int | None = None) -> InputError:
        return InputError(self.source, f"byte {self.position if position is None else position}", reason)

    def read(self, size: int, what: str, *, or_end: bool = False) -> bytes:
        """Read `size` bytes; none at the end of the file, if the file may end there."""
        parts, wanted = [], size
        while wanted and (part := self.file.read(min(wanted, _READ_BYTES))):
            parts.append(part)
            wanted -= len(part)
        data = b"".join(parts)
        if wanted and (data or not or_end):
            after = f" after {self.packets} whole packets" if self.packets else ""
            raise self.refuse(f"the file ends{after} inside of {what}: {size} bytes needed, {len(data)} bytes left")
        self.position += len(data)
        return data

    def packet(self, time_ns: int | None, link_type: int, data: bytes) -> Packet:
        self.packets += 1
        return Packet(number=self.packets, time_ns=time_ns, link_type=link_type, data=data)


def _classic(reader: _Reader, order: str, unit_ns: int) -> Iterator[Packet]:
    header = reader.read(20, "the file header")
    (link_type,) = struct.unpack_from(order + "I", header, 16)
    # The upper bits are the length of a frame check sequence.
    link_type &= 0xFFFF
    while record := reader.read(16, "a packet's header", or_end=True):
        seconds, fraction, kept, _ = struct.unpack(order + "IIII", record)
        if kept > PACKET_BYTES_MAX:
            raise reader.refuse(
                f"packet {reader.packets + 1} of {kept} bytes, PACKET_BYTES_MAX is {PACKET_BYTES_MAX}",
                reader.position - 16,
            )
        data = reader.read(kept, f"packet {reader.packets + 1}")
        yield reader.packet(seconds * _NANOSECONDS + fraction * unit_ns, link_type, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    link_type: int
    kept_max: int
    ticks_a_second: int
    offset_seconds: int

    def time_ns(self, ticks: int) -> int:
        return self.offset_seconds * _NANOSECONDS + ticks * _NANOSECONDS // self.ticks_a_second


def _next_generation(reader: _Reader) -> Iterator[Packet]:
    order = _section(reader)
    interfaces: list[_Interface] = []
    while start := reader.read(4, "a block's type", or_end=True):
        if start == _SECTION:
            order, interfaces = _section(reader), []
            continue
        at = reader.position - 4
        (kind,) = struct.unpack(order + "I", start)
        body = _block_body(reader, order, at)
        try:
            if kind == _INTERFACE_BLOCK:
                if len(interfaces) == INTERFACES_MAX:
                    raise reader.refuse(f"more interfaces than INTERFACES_MAX={INTERFACES_MAX}", at)
                interfaces.append(_interface(body, order))
            elif kind in {_PACKET_BLOCK, _SIMPLE_PACKET_BLOCK, _ENHANCED_PACKET_BLOCK}:
                yield _packet(reader, kind, body, order, interfaces, at)
        except struct.error:
            raise reader.refuse(f"block of type {kind}: {len(body)} bytes are too few for it", at) from None


def _section(reader: _Reader) -> str:
    """Read the rest of a section header, after its type; return the byte order."""
    at = reader.position - 4
    length, magic = reader.read(4, "a section's length"), reader.read(4, "a section's byte order")
    orders = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
    if magic not in orders:
        raise reader.refuse(f"byte order {magic.hex()}: expected 1a2b3c4d or 4d3c2b1a", at + 8)
    order = orders[magic]
    (size,) = struct.unpack(order + "I", length)
    _check_length(reader, size, 28, at)
    reader.read(size - 16, "a section header")
    _check_trailer(reader, order, size)
    return order


def _block_body(reader: _Reader, order: str, at: int) -> bytes:
    (size,) = struct.unpack(order + "I", reader.read(4, "a block's length"))
    _check_length(reader, size, 12, at)
    body = reader.read(size - 12, "a block")
    _check_trailer(reader, order, size)
    return body


def _check_length(reader: _Reader, size: int, least: int, at: int) -> None:
    if size < least or size % 4 or size > PACKET_BYTES_MAX:
        raise reader.refuse(f"block length {size}: expected a multiple of 4 from {least} to {PACKET_BYTES_MAX}", at + 4)


def _check_trailer(reader: _Reader, order: str, size: int) -> None:
    (again,) = struct.unpack(order + "I", reader.read(4, "a block's trailer"))
    if again != size:
        raise reader.refuse(f"the block ends with length {again}, it begins with {size}", reader.position - 4)


def _interface(body: bytes, order: str) -> _Interface:
    link_type, _, kept_max = struct.unpack_from(order + "HHI", body)
    ticks, offset, position = 1_000_000, 0, 8
    while position + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, position)
        value = body[position + 4 : position + 4 + size]
        if code == _OPTION_RESOLUTION and len(value) == 1:
            ticks = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _OPTION_OFFSET and len(value) == 8:
            (offset,) = struct.unpack(order + "q", value)
        elif code == 0:
            break
        position += 4 + (size + 3) // 4 * 4
    return _Interface(link_type=link_type, kept_max=kept_max, ticks_a_second=ticks, offset_seconds=offset)


def _packet(reader: _Reader, kind: int, body: bytes, order: str, interfaces: list[_Interface], at: int) -> Packet:
    if kind == _SIMPLE_PACKET_BLOCK:
        (size,) = struct.unpack_from(order + "I", body)
        number, ticks, position = 0, None, 4
        kept = min(size, interfaces[0].kept_max or size) if interfaces else size
    else:
        layout = "IIIII" if kind == _ENHANCED_PACKET_BLOCK else "HHIIII"
        number, *rest = struct.unpack_from(order + layout, body)
        high, low, kept, _ = rest[-4:]
        ticks, position = high << 32 | low, 20
    if number >= len(interfaces):
        raise reader.refuse(f"a packet of interface {number}, {len(interfaces)} are described", at)
    if kept > len(body) - position:
        raise reader.refuse(f"a packet of {kept} bytes, {len(body) - position} bytes left in its block", at)
    interface = interfaces[number]
    time_ns = None if ticks is None else interface.time_ns(ticks)
    return reader.packet(time_ns, interface.link_type, body[position : position + kept])
