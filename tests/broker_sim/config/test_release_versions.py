"""The API versions of a broker of each release, and requests of unknown APIs or versions."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from broker_sim.apis.kafka_apis import HANDLERS
from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.threaded_cluster import ThreadedCluster
    from tests.broker_sim.config.conftest import RawClient

    Start = Callable[..., ThreadedCluster]
    Connect = Callable[[ThreadedCluster], RawClient]

HEADER = struct.Struct(">hhih")
ALL_RELEASES = releases.names()
WITHOUT_API_VERSIONS = ("0.8.0", "0.8.1", "0.8.2.2", "0.9.0.1")
WITH_API_VERSIONS = [release for release in ALL_RELEASES if release not in WITHOUT_API_VERSIONS]


def header(api_key: int, version: int, *, tags: bytes = b"") -> bytes:
    return HEADER.pack(api_key, version, 7, -1) + tags


def header_of_me(api_key: int) -> bytes:
    return HEADER.pack(api_key, 0, 7, 2) + b"me"


@pytest.mark.parametrize("release", WITH_API_VERSIONS)
def test_exactly_the_releases_table_is_listed_as_far_as_it_is_implemented(
    start: Start, connect: Connect, release: str
) -> None:
    cluster = start(release)
    listed = connect(cluster).call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    table = cluster.cluster.config.release_table
    assert [(item.api_key, item.min_version, item.max_version) for item in listed.api_keys] == [
        (key, versions.lowest, versions.highest)
        for key, versions in sorted(table.api_versions.items())
        if key in HANDLERS.served
    ]


@pytest.mark.parametrize("release", WITH_API_VERSIONS)
def test_an_unknown_version_of_api_versions_gets_a_response_in_the_oldest_layout(
    start: Start, connect: Connect, release: str
) -> None:
    client = connect(start(release))
    explains = releases.get(release).version >= (2, 4)
    client.send(header(ApiKey.API_VERSIONS, 127, tags=b"\0" if explains else b""))
    frame = client.frame()
    highest = releases.get(release).api_versions[ApiKey.API_VERSIONS].highest
    entries = struct.pack(">ihhh", 1, ApiKey.API_VERSIONS, 0, highest) if explains else struct.pack(">i", 0)
    assert frame == struct.pack(">ih", 7, ErrorCode.UNSUPPORTED_VERSION) + entries


def test_brokers_before_2_4_read_no_tags_in_the_header_of_a_newer_api_versions(start: Start, connect: Connect) -> None:
    client = connect(start("2.3"))
    newest = ApiVersionsRequest(client_software_name="new", client_software_version="1")
    response = client.call(newest, 3, ApiVersionsResponse, served_as=0)
    assert (response.error_code, response.api_keys) == (ErrorCode.UNSUPPORTED_VERSION, [])
    assert client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == ErrorCode.NONE


@pytest.mark.parametrize("release", ["0.10.0", "0.11", "2.8", "3.7", "4.3"])
@pytest.mark.parametrize(("api_key", "version"), [(3, 99), (999, 0), (17, 0)])
def test_an_unknown_api_or_version_closes_the_connection(
    start: Start, connect: Connect, release: str, api_key: int, version: int
) -> None:
    client = connect(start(release))
    client.send(header(api_key, version))
    assert client.frame() is None


@pytest.mark.parametrize("release", ["0.8.1", "0.9"])
@pytest.mark.parametrize("version", [-1, 0, 1, 9])
def test_before_0_10_any_version_is_read_as_the_newest_known(
    start: Start, connect: Connect, release: str, version: int
) -> None:
    client = connect(start(release, "orders:2:1"))
    client.send(header(3, version) + struct.pack(">i", 0))
    frame = client.frame()
    assert frame is not None
    assert frame[:4] == struct.pack(">i", 7)
    response = MetadataResponse.decode(0, frame[4:])
    assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("orders", 2)]


@pytest.mark.parametrize("api_key", [ApiKey.API_VERSIONS, 999])
def test_an_unknown_api_closes_the_connection_to_0_8_too(start: Start, connect: Connect, api_key: int) -> None:
    client = connect(start("0.8.2"))
    client.send(header_of_me(api_key))
    assert client.frame() is None


def test_an_unknown_api_without_a_client_id_closes_the_connection_to_0_9(start: Start, connect: Connect) -> None:
    client = connect(start("0.9"))
    client.send(header(ApiKey.API_VERSIONS, 0))
    assert client.frame() is None


@pytest.mark.parametrize("api_key", [3, ApiKey.API_VERSIONS, 999])
def test_0_9_ignores_a_request_that_ends_too_early_or_is_unknown(start: Start, connect: Connect, api_key: int) -> None:
    client = connect(start("0.9"))
    client.send(header_of_me(api_key))
    with pytest.raises(TimeoutError):
        client.frame(wait_s=0.2)
    assert client.call(MetadataRequest(topics=[]), 0, MetadataResponse).brokers


@pytest.mark.parametrize(("release", "served"), [("3.6", False), ("3.7", True), ("4.3", True)])
def test_telemetry_is_served_unlisted_since_3_7(start: Start, connect: Connect, release: str, *, served: bool) -> None:
    client = connect(start(release))
    client.send(header(71, 0, tags=b"\0") + bytes(16) + b"\0")
    assert (client.frame() is not None) is served
