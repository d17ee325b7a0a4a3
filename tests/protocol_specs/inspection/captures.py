"""Captures made by hand: TCP segments of a conversation, packed as libpcap and pcapng pack them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from protocol_specs.framing import encode_request, encode_response
from protocol_specs.inspection.tcp_segment import ACK, FIN, SYN
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse
from protocol_specs.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

CLIENT, BROKER = ("10.0.0.1", 50000), ("10.0.0.2", 9092)


def metadata_request(correlation_id: int, version: int = 9) -> bytes:
    return encode_request(MetadataRequest(topics=[]), version, correlation_id=correlation_id, client_id="c")


def metadata_response(correlation_id: int, version: int = 9, *, cluster_id: str = "cluster") -> bytes:
    message = MetadataResponse(cluster_id=cluster_id, controller_id=1)
    return encode_response(message, version, correlation_id=correlation_id)


def versions_request(correlation_id: int, version: int) -> bytes:
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    return encode_request(request, version, correlation_id=correlation_id, client_id="c")


def refused_versions(correlation_id: int) -> bytes:
    return encode_response(ApiVersionsResponse(error_code=35), 0, correlation_id=correlation_id)


def produced(correlation_id: int, acks: int) -> bytes:
    return encode_request(ProduceRequest(acks=acks), 9, correlation_id=correlation_id, client_id="c")


def tcp_packet(
    source: tuple[str, int],
    destination: tuple[str, int],
    sequence: int,
    payload: bytes = b"",
    *,
    flags: int = ACK,
    acknowledgement: int = 0,
) -> bytes:
    """An IP packet."""
    header = struct.pack(
        ">HHIIBBHHH", source[1], destination[1], sequence % 2**32, acknowledgement % 2**32, 0x50, flags, 1000, 0, 0
    )
    segment = header + payload
    addresses = ip_address(source[0]).packed + ip_address(destination[0]).packed
    if len(addresses) == 8:
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0) + addresses + segment
    return struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + addresses + segment


@dataclass(slots=True, kw_only=True)
class Dialogue:
    """Two sides that send in turns: keeps the sequence numbers."""

    client: tuple[str, int] = CLIENT
    broker: tuple[str, int] = BROKER
    packets: list[bytes] = field(default_factory=list)
    at: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.at = {self.client: 1000, self.broker: 2**32 - 5}

    def open(self) -> None:
        self.packet(self.client, flags=SYN)
        self.packet(self.broker, flags=SYN | ACK)
        self.packet(self.client)

    def close(self) -> None:
        self.packet(self.client, flags=FIN | ACK)
        self.packet(self.broker, flags=FIN | ACK)
        self.packet(self.client)

    def packet(self, source: tuple[str, int], payload: bytes = b"", *, flags: int = ACK) -> None:
        destination = self.broker if source == self.client else self.client
        self.packets.append(
            tcp_packet(source, destination, self.at[source], payload, flags=flags, acknowledgement=self.at[destination])
        )
        self.at[source] += len(payload) + (1 if flags & (SYN | FIN) else 0)

    def request(self, payload: bytes, *, size: int = 1400) -> None:
        self.send(self.client, payload, size)

    def respond(self, payload: bytes, *, size: int = 1400) -> None:
        self.send(self.broker, payload, size)

    def send(self, source: tuple[str, int], payload: bytes, size: int) -> None:
        for start in range(0, len(payload), size):
            self.packet(source, payload[start : start + size])


def session() -> Dialogue:
    """Two Metadata requests and their responses, from the SYN to the FIN."""
    dialogue = Dialogue()
    dialogue.open()
    for correlation_id in (1, 2):
        dialogue.request(metadata_request(correlation_id))
        dialogue.respond(metadata_response(correlation_id), size=16)
    dialogue.close()
    return dialogue


LINKS = {
    "null": (0, b"\x02\0\0\0"),
    "ethernet": (1, bytes(12) + b"\x08\0"),
    "vlan": (1, bytes(12) + b"\x81\0\0\x05\x08\0"),
    "raw": (101, b""),
    "loop": (108, b"\0\0\0\x02"),
    "sll": (113, bytes(14) + b"\x08\0"),
    "sll2": (276, b"\x08\0" + bytes(18)),
}


def pcap(packets: Sequence[bytes], *, link: str = "raw", order: str = "<", nanoseconds: bool = False) -> bytes:
    """A classic capture; packet n was caught n milliseconds after the first second."""
    number, prefix = LINKS[link]
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, number)]
    for index, packet in enumerate(packets):
        data = prefix + packet
        parts.append(struct.pack(order + "IIII", 1, index * 1_000_000 // unit, len(data), len(data)) + data)
    return b"".join(parts)


def block(order: str, kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def pcapng(packets: Sequence[bytes], *, order: str = "<", simple: bool = False) -> bytes:
    """A capture with a section, an unused interface of Ethernet, one of raw IP in nanoseconds, and a block of names."""
    parts = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    raw = struct.pack(order + "HHI", 101, 0, 0)
    if not simple:
        parts.append(block(order, 1, struct.pack(order + "HHI", 1, 0, 65535)))
        raw += struct.pack(order + "HHBxxx", 9, 1, 9) + struct.pack(order + "HH", 0, 0)
    parts.append(block(order, 1, raw))
    parts.append(block(order, 4, bytes(8)))
    for index, packet in enumerate(packets):
        if simple:
            parts.append(block(order, 3, struct.pack(order + "I", len(packet)) + packet))
            continue
        moment = 1_000_000_000 + index * 1_000_000
        header = struct.pack(order + "IIIII", 1, moment >> 32, moment & 0xFFFFFFFF, len(packet), len(packet))
        parts.append(block(order, 6, header + packet))
    return b"".join(parts)
