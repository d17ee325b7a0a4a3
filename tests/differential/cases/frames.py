"""Frames that no client would send: sizes, headers, API keys and versions."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from protocol_specs import releases
from protocol_specs.framing import encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.registry import request_type
from tests.differential.case import case
from tests.differential.cases.init_producer_id import await_ids
from tests.differential.probe import SILENCE_SECONDS
from tests.differential.requests import batch, fetch, produce, wanted

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def header(api_key: int, version: int, correlation_id: int = 7, client: bytes = b"\0\5probe") -> bytes:
    """A header of version 1."""
    return struct.pack(">hhi", api_key, version, correlation_id) + client


def small(version: int = 1) -> bytes:
    """Return a FindCoordinator of an unknown key type: its response is short and always the same."""
    return header(10, version) + (b"\0\1g" + (b"\x09" if version else b""))


@case()
def sizes(probe: Probe) -> None:
    for size in (-1, -2, -2_147_483_648, 104_857_601, 2_147_483_647):
        probe.raw(struct.pack(">i", size), note=f"size {size}", sized=False)
        probe.raw(struct.pack(">i", size) + small(), note=f"size {size} and a frame", sized=False)


@case()
def empty_and_short_frames(probe: Probe) -> None:
    whole = header(3, 1)
    for length in (0, 1, 2, 3, 4, 7, 8, 9, 10, 14):
        probe.raw(whole[:length], note=f"{length} bytes")


@case()
def a_size_that_never_comes(probe: Probe) -> None:
    probe.raw(b"\0\0", note="half a size", sized=False, seconds=SILENCE_SECONDS)


@case()
def a_frame_that_never_ends(probe: Probe) -> None:
    frame = struct.pack(">i", 100) + small()
    probe.raw(frame, note="fewer bytes than the size announces", sized=False, seconds=SILENCE_SECONDS)


@case()
def frames_in_pieces(probe: Probe) -> None:
    connection = probe.connect()
    data = struct.pack(">i", len(small())) + small()
    for byte in data:
        connection.send(bytes([byte]))
    response = connection.receive(5)
    probe.write(response=response if isinstance(response, str) else response.hex())


@case()
def frames_back_to_back(probe: Probe) -> None:
    """Responses come in the order of the requests, also when an error response is among them."""
    connection = probe.connect()
    topic = probe.topic()
    frames = [
        struct.pack(">i", len(small())) + small(),
        encode_request(produce(topic, batch(b"a")), 9, correlation_id=8, client_id=None),
        encode_request(produce(topic, b""), 9, correlation_id=9, client_id=None),
        encode_request(produce(topic, batch(b"a"), acks=0), 9, correlation_id=10, client_id=None),
        struct.pack(">i", len(small())) + small(),
    ]
    connection.send(b"".join(frames))
    for _ in range(4):
        response = connection.receive(5)
        probe.write(response=response if isinstance(response, str) else response[:4].hex())


@case()
def a_request_that_waits_holds_back_those_behind_it(probe: Probe) -> None:
    topic = probe.topic()
    connection = probe.connect()
    waiting = fetch(topic, wanted(), max_wait_ms=300, min_bytes=1)
    connection.send(encode_request(waiting, 12, correlation_id=1, client_id=None))
    connection.send(encode_request(MetadataRequest(topics=[]), 4, correlation_id=2, client_id=None))
    connection.send(encode_request(produce(topic, batch(b"a")), 9, correlation_id=3, client_id=None))
    for _ in range(3):
        response = connection.receive(5)
        probe.write(response=response if isinstance(response, str) else response[:4].hex())


@case()
def a_waiting_fetch_is_woken_by_another_connection(probe: Probe) -> None:
    topic = probe.topic()
    connection = probe.connect()
    waiting = fetch(topic, wanted(), max_wait_ms=9_000, min_bytes=1)
    connection.send(encode_request(waiting, 4, correlation_id=1, client_id=None))
    probe.exchange(produce(topic, batch(b"a")), 9)
    response = connection.receive(5)
    probe.write(response=response if isinstance(response, str) else response.hex())


@case()
def requests_before_a_bad_one_get_responses(probe: Probe) -> None:
    connection = probe.connect()
    good = struct.pack(">i", len(small())) + small()
    bad = struct.pack(">i", 8) + struct.pack(">hhi", 999, 0, 3)
    connection.send(good + good + bad + good)
    for _ in range(3):
        response = connection.receive(5)
        probe.write(response=response if isinstance(response, str) else response.hex())


@case()
def unknown_api_keys(probe: Probe) -> None:
    for api_key in (93, 94, 100, 127, 999, 1_000, 32_767, -1, -2, -32_768):
        for version in (0, 1):
            probe.raw(header(api_key, version), note=f"api key {api_key}, version {version}")
        probe.raw(header(api_key, 0) + bytes(50), note=f"api key {api_key} and a body")


@case()
def apis_of_brokers_and_controllers(probe: Probe) -> None:
    for api_key in (4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82):
        probe.raw(header(api_key, 0) + bytes(60), note=f"api key {api_key}")


def listed(probe: Probe) -> list[int]:
    """Every API that the release lists: what the simulator does not serve is not compared."""
    return list(releases.get(probe.release).api_versions)


@case()
def versions_above_the_highest(probe: Probe) -> None:
    for api_key in listed(probe):
        if api_key != 18:
            highest = request_type(api_key).VERSIONS.highest
            for version in (highest + 1, highest + 2, 127, 32_767):
                probe.raw(header(api_key, version) + b"\0" + bytes(60), note=f"api key {api_key}, version {version}")


@case()
def negative_versions(probe: Probe) -> None:
    for api_key in listed(probe):
        if api_key != 18:
            for version in (-1, -2, -32_768):
                probe.raw(header(api_key, version) + bytes(60), note=f"api key {api_key}, version {version}")


@case()
def no_body(probe: Probe) -> None:
    """Every version of every API needs more than a header, but the old ones of ApiVersions."""
    for api_key in listed(probe):
        versions = request_type(api_key).VERSIONS
        for version in range(versions.lowest, versions.highest + 1):
            if api_key != 18:
                probe.raw_body(api_key, version, b"", note="no body", seconds=2)


@case()
def half_a_body(probe: Probe) -> None:
    for api_key in listed(probe):
        if api_key == 18:
            continue
        versions = request_type(api_key).VERSIONS
        for version in range(versions.lowest, versions.highest + 1):
            probe.raw_body(api_key, version, b"\0\0", note="two zeros", only=sorted, seconds=2)


@case()
def bodies_of_ones(probe: Probe) -> None:
    for api_key in listed(probe):
        if api_key == 18:
            continue
        versions = request_type(api_key).VERSIONS
        for version in range(versions.lowest, versions.highest + 1):
            probe.raw_body(api_key, version, b"\xff" * 100, note="ones", only=sorted, seconds=2)


@case()
def absurd_counts(probe: Probe) -> None:
    for api_key, version, body in (
        (3, 1, b"\x7f\xff\xff\xff"),
        (3, 9, b"\xff\xff\xff\xff\x07"),
        (3, 9, b"\x80\x80\x80\x80\x08"),
        (0, 3, b"\xff\xff\xff\xff\0\0\0\0\x7f\xff\xff\xff"),
        (0, 9, b"\0\xff\xff\0\0\0\0\xff\xff\xff\xff\x07"),
        (19, 2, b"\x7f\xff\xff\xff\0\0\0\0\0"),
        (20, 1, b"\x7f\xff\xff\xff\0\0\0\0"),
        (32, 1, b"\x7f\xff\xff\xff\0"),
        (10, 4, b"\0\xff\xff\xff\xff\x07\0"),
        (23, 2, b"\x7f\xff\xff\xff"),
        (2, 1, b"\xff\xff\xff\xff\x7f\xff\xff\xff"),
    ):
        probe.raw_body(api_key, version, body, note="2**31-1 entries")


@case()
def client_ids(probe: Probe) -> None:
    for client, note in (
        (b"\xff\xff", "null"),
        (b"\0\0", "empty"),
        (b"\xff\xfe", "-2"),
        (b"\x80\0", "-32768"),
        (b"\0\2\xc3\x28", "not UTF-8"),
        (b"\0\3a\0b", "with a zero"),
        (struct.pack(">h", 1_000) + b"x" * 1_000, "long"),
        (b"\x7f\xff" + b"x" * 10, "longer than the frame"),
    ):
        probe.raw(header(10, 1, client=client) + b"\0\1g\x09", note=f"{note}, header 1")
        probe.raw(header(10, 3, client=client) + b"\0" + b"\2g\x09\0", note=f"{note}, header 2")


@case()
def tags_in_the_header(probe: Probe) -> None:
    body = b"\2g\x09\0"
    for tags, note in (
        (b"\0", "none"),
        (b"\1\0\0", "an empty one"),
        (b"\1\5\3abc", "one"),
        (b"\2\5\1a\6\1b", "two"),
        (b"\2\6\1a\5\1b", "two that descend"),
        (b"\2\5\1a\5\1b", "the same twice"),
        (b"\1\5\x7fabc", "one that is too long"),
        (b"\xff\xff\xff\xff\x0f", "2**32-1"),
        (b"\x80\x80\x80\x80\x80\x01", "a count of 6 bytes"),
        (b"", "missing"),
        (b"\1\xff\xff\xff\xff\x0f\1a", "a large tag number"),
        (b"\1\5\xff\xff\xff\xff\x0f", "a size of 2**32-1"),
    ):
        probe.raw(header(10, 3) + tags + body, note=note)


@case()
def a_flexible_request_with_the_old_header(probe: Probe) -> None:
    probe.raw(header(10, 3) + b"\2g\x09\0", note="no tags in the header")
    probe.raw(header(10, 1) + b"\0" + b"\0\x09", note="tags in an old header: they are read as the body")


@case()
def correlation_ids(probe: Probe) -> None:
    for correlation_id in (0, -1, 2_147_483_647, -2_147_483_648):
        probe.raw(header(10, 1, correlation_id) + b"\0\1g\x09", note=str(correlation_id))
        probe.raw(header(10, 3, correlation_id) + b"\0\2g\x09\0", note=f"{correlation_id}, flexible")


@case()
def trailing_bytes(probe: Probe) -> None:
    probe.raw(header(10, 1) + b"\0\1g\x09" + b"more", note="old")
    probe.raw(header(10, 3) + b"\0\2g\x09\0" + b"more", note="flexible")
    probe.raw(header(10, 1) + b"\0\1g\x09" + bytes(10_000), note="10000 zeros")


@case()
def strings_that_are_not_utf8(probe: Probe) -> None:
    for text in (
        *(
            "c328",
            "fffe",
            "eda080",
            "f09f",
            "61c0af62",
            "f4908080",
            "e282",
            "eda0",
            "eda041",
            "edbfbf",
            "e08080",
            "e080",
        ),
        *(
            "f0808080",
            "f888808080",
            "c181",
            "e228a1",
            "f0288cbc",
            "f09028bc",
            "fe",
            "80",
            "eda080edb080",
            "e0a0",
            "f0908d",
        ),
        *(
            "edc080",
            "ed",
            "f48fbf",
            "f5808080",
            "e0a041",
            "f09041",
            "c0",
            "eda08041",
            "41eda0c280",
            "41eda080",
            "41eda0",
        ),
    ):
        data = bytes.fromhex(text)
        body = struct.pack(">i", 1) + struct.pack(">h", len(data)) + data + b"\0"
        probe.raw_body(3, 4, body, note=data.hex())


@case()
def negative_lengths(probe: Probe) -> None:
    await_ids(probe)
    for api_key, version, body, note in (
        (10, 0, b"\xff\xff", "a string of -1"),
        (10, 0, b"\xff\xfe", "a string of -2"),
        (10, 0, b"\x80\0", "a string of -32768"),
        (3, 4, b"\xff\xff\xff\xfe\0", "an array of -2"),
        (19, 2, b"\xff\xff\xff\xfe\0\0\0\0\0", "an array of -2 that may not be null"),
        (19, 2, b"\x80\0\0\0\0\0\0\0\0", "an array of -2**31 that may not be null"),
        (32, 1, b"\xff\xff\xff\xfe\0", "resources of -2"),
        (22, 0, b"\xff\xfe\0\0\0\1", "a nullable string of -2"),
    ):
        only = (sorted) if api_key == 3 else None
        probe.raw_body(api_key, version, body, note=note, only=only)


@case()
def varints_that_are_too_long(probe: Probe) -> None:
    for varint, note in (
        (b"\x82\0", "2 bytes for 2"),
        (b"\x82\x80\0", "3 bytes for 2"),
        (b"\x82\x80\x80\x80\0", "5 bytes for 2"),
        (b"\x82\x80\x80\x80\x80\0", "6 bytes for 2"),
        (b"\x82\x80\x80\x80\x10", "5 bytes, bits lost"),
        (b"\x82\x80\x80\x80\x80\x80\x80\x80\x80\x01", "10 bytes"),
    ):
        probe.raw(header(10, 3) + b"\0" + varint + b"g\x09\0", note=note)


@case()
def a_first_request_that_is_not_api_versions(probe: Probe) -> None:
    connection = probe.connect()
    probe.exchange(MetadataRequest(topics=[]), 4, on=connection)
    probe.exchange(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3, on=connection)


@case()
def the_http_of_a_lost_browser(probe: Probe) -> None:
    probe.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", note="GET", sized=False)
    probe.raw(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(40), note="TLS", sized=False)


@case()
def a_half_closed_connection_gets_a_response(probe: Probe) -> None:
    import socket

    with socket.create_connection(probe.address, 5) as raw:
        raw.sendall(struct.pack(">i", len(small())) + small())
        raw.shutdown(socket.SHUT_WR)
        raw.settimeout(5)
        data = b""
        try:
            while chunk := raw.recv(1_000):
                data += chunk
        except OSError:
            pass
        probe.write(half_closed=data.hex())


@case()
def lengths_of_all_ones(probe: Probe) -> None:
    """An unsigned varint of 2**32-1 is -1 to Java, and one less is -2: what may be null is null then."""
    await_ids(probe)
    ones = b"\xff\xff\xff\xff\x0f"
    for api_key, version, body, note in (
        (10, 3, ones + b"g\x09\0", "a string"),
        (10, 3, b"\2g\x09" + ones, "tags"),
        (10, 4, b"\x09" + ones + b"\0", "an array"),
        (22, 2, ones + b"\0\0\0\1\0", "a nullable string"),
        (3, 9, ones + b"\0\0\0\0", "a nullable array"),
        (3, 10, b"\2" + bytes(16) + ones + b"\0\0\0\0\0", "a nullable name"),
        (0, 9, ones + b"\0\1\0\0\x13\x88\1\0", "a transactional id"),
        (0, 9, b"\0\0\1\0\0\x13\x88" + ones + b"\0", "topics"),
        (32, 4, b"\2\2\2t" + ones + b"\0\0\0\0", "nullable keys"),
        (19, 5, b"\2\2t" + b"\0\0\0\1\0\1\1\2\2k" + ones + b"\0\0\0\0\x13\x88\1\0", "a nullable config value"),
        (1, 12, b"\xff\xff\xff\xff" + bytes(16) + b"\0\0\0\0\xff" + ones, "topics of a fetch"),
    ):
        only = sorted if api_key == 3 else None
        probe.raw_body(api_key, version, body, note=note, only=only)


@case()
def lengths_with_the_highest_bit(probe: Probe) -> None:
    """An unsigned varint from 2**31 on is negative to Java."""
    await_ids(probe)
    for varint, note in (
        (b"\x80\x80\x80\x80\x08", "2**31"),
        (b"\x81\x80\x80\x80\x08", "2**31 + 1"),
        (b"\xfe\xff\xff\xff\x0f", "2**32 - 2"),
        (b"\xff\xff\xff\xff\x07", "2**31 - 1"),
        (b"\xff\xff\xff\xff\x1f", "2**33 - 1"),
        (b"\xff\xff\xff\xff\x7f", "2**35 - 1"),
    ):
        probe.raw_body(22, 2, varint + b"\0\0\0\1\0", note=f"a nullable string of {note}")
        probe.raw_body(10, 3, b"\2g\x09" + varint, note=f"tags: {note}")
        probe.raw_body(10, 3, b"\2g\x09\1\5" + varint, note=f"a tag of size {note}")
        probe.raw_body(10, 3, b"\2g\x09\1" + varint + b"\0", note=f"a tag numbered {note}")
        probe.raw_body(10, 3, varint + b"g\x09\0", note=f"a string of {note}")
        probe.raw_body(10, 4, b"\x09" + varint + b"\0", note=f"an array of {note}")
