"""ApiVersions, as raw probes see it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.api_versions import ApiVersionsRequest
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def named(name: str = "probe", version: str = "1.0") -> ApiVersionsRequest:
    """A request of a client's software name and version."""
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@case()
def every_version(probe: Probe) -> None:
    for version in range(4):
        probe.exchange(named(), version)


@case(releases=("4.3.1",))
def version_4_shows_features_of_minimum_0(probe: Probe) -> None:
    probe.exchange(named(), 4)


@case()
def the_order_of_the_list(probe: Probe) -> None:
    for version in (0, 3):
        response: Any = probe.quiet(named(), version)
        probe.write(apiKeys=[each.api_key for each in response.api_keys])


@case()
def software_names(probe: Probe) -> None:
    names = ["", "-", ".", "a", "a b", "-a", "a-", ".a", "a.", "a.b-c", "a_b", "a/b", "A1", "1", "ä", "a" * 300, "a\n"]
    for name in names:
        probe.exchange(named(name=name), 3, note=f"name {name!r}")


@case()
def software_versions(probe: Probe) -> None:
    for version in ("", "-", "1", "1.2.3-rc1", "v 1", "1_2", "1.", ".1", "1+2"):
        probe.exchange(named(version=version), 3, note=f"version {version!r}")


@case()
def the_same_connection_many_times(probe: Probe) -> None:
    connection = probe.connect()
    for version in (3, 0, 1, 3, 2):
        probe.exchange(named(), version, on=connection)


@case()
def an_illegal_name_leaves_the_connection_open(probe: Probe) -> None:
    connection = probe.connect()
    probe.exchange(named(name=""), 3, on=connection)
    probe.exchange(named(), 3, on=connection)


@case()
def unknown_versions(probe: Probe) -> None:
    body = b"\6probe\0041.0\0"
    for version in (4, 5, 6, 127, 32_767):
        probe.raw_body(18, version, body, header=b"\0\5probe\0", note="flexible header")


@case()
def unknown_versions_with_other_bytes(probe: Probe) -> None:
    for header, note in ((b"\0\5probe", "header 1"), (b"\xff\xff\0", "null client id"), (b"\0\0\0", "empty client id")):
        probe.raw_body(18, 127, b"", header=header, note=f"{note}, no body")
    probe.raw_body(18, 127, b"\xff" * 20, header=b"\0\5probe\0", note="garbage body")
    probe.raw_body(18, 127, b"", header=b"\0\5probe\1\0\1x", note="a tag in the header")
    probe.raw_body(18, 127, b"", header=b"\0\5probe\1\0\7x", note="a tag that is too long")


@case()
def negative_versions(probe: Probe) -> None:
    for version in (-1, -2, -32_768):
        for header, note in ((b"\0\5probe", "header 1"), (b"\0\5probe\0", "header 2")):
            probe.raw_body(18, version, b"", header=header, note=note)


@case()
def an_unknown_version_leaves_the_connection_open(probe: Probe) -> None:
    connection = probe.connect()
    frame = struct.pack(">hhi", 18, 127, 9) + b"\0\5probe\0" + b"\6probe\0041.0\0"
    connection.send(struct.pack(">i", len(frame)) + frame)
    response = connection.receive(5)
    probe.write(unknown=response if isinstance(response, str) else response.hex())
    probe.exchange(named(), 3, on=connection)
    probe.exchange(named(), 0, on=connection)


@case()
def bytes_after_the_body(probe: Probe) -> None:
    for version in range(3):
        probe.raw_body(18, version, b"more", note="4 more bytes")
    probe.raw_body(18, 3, b"\6probe\0041.0\0more", note="4 more bytes")


@case()
def bodies_of_version_3_that_are_wrong(probe: Probe) -> None:
    for body, note in (
        (b"", "empty"),
        (b"\6prob", "the name is cut"),
        (b"\0\0041.0\0", "null name"),
        (b"\6probe\0\0", "null version"),
        (b"\6probe\0041.0", "no tags"),
        (b"\6probe\0041.0\1\0\1x", "an unknown tag"),
        (b"\6probe\0041.0\1\0\7x", "a tag that is too long"),
        (b"\6probe\0041.0\2\0\1x\0\1x", "the same tag twice"),
        (b"\6probe\0041.0\xff\xff\xff\xff\xff\1", "a count of tags of 6 bytes"),
        (b"\6probe\0041.0\5", "five tags and no bytes"),
        (b"\xff\xff\xff\xff\x0fprobe", "a name of 4 GiB"),
        (b"\3\xc3\x28\0041.0\0", "a name that is not UTF-8"),
    ):
        probe.raw_body(18, 3, body, note=note)
