"""How a client finds out what a node speaks that may have no ApiVersions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.network.version_checks import (
    ADDRESSES_MAX,
    OLD_BROKER_KEPT_MS,
    SILENCE_AMONG_OLD_MS,
    SILENCE_MS,
    VersionCheck,
    VersionChecks,
    versions_before_api_versions,
)
from broker_client.errors import ProducerTimeout
from protocol_specs.version_range import VersionRange
from tests.client.scripted_broker import API_VERSIONS, METADATA, PORT, PRODUCE, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World

HERE = ("broker-1", PORT)


@pytest.fixture
def client(world: World, cluster: ScriptedCluster) -> Iterator[ClientCore]:
    made = client_on(world, cluster)
    yield made
    made.close()
    world.run_for(ms=10)


def client_on(world: World, cluster: ScriptedCluster, **network: Any) -> ClientCore:
    config = NetworkClientConfig(client_id="test", **network)
    options = ClientOptions(bootstrap_servers=(HERE,), network=config)
    return ClientCore(options, cluster.client, world.streams.stream("client"))


def closes(cluster: ScriptedCluster, times: int) -> None:
    """Close the connection on the first so many ApiVersions."""
    left = [times]

    def given_response(broker: Any, _: Any, version: int) -> Any:
        if not left[0]:
            del cluster.handlers[API_VERSIONS]
        left[0] -= 1
        if left[0] < 0:
            return broker.connections[-1].versions()
        broker.connections[-1].transport.loseConnection()
        return None

    cluster.handlers[API_VERSIONS] = given_response


def requested_apis(cluster: ScriptedCluster) -> list[tuple[int, int]]:
    return [(request.api_key, request.api_version) for request in cluster.seen]


def is_old(cluster: ScriptedCluster) -> None:
    """Return Metadata in the oldest layout for every version."""

    def given_response(broker: Any, request: Any, _: int) -> Any:
        connection = broker.connections[-1]

        def in_the_oldest(correlation_id: int, response: Any, _: int) -> None:
            del connection.respond
            connection.respond(correlation_id, response, 0)

        connection.respond = in_the_oldest
        return connection.metadata(request)

    cluster.handlers[METADATA] = given_response


def test_a_node_that_closes_on_api_versions_is_of_before_0_10_when_it_looks_at_no_version(
    world: World, cluster: ScriptedCluster, client: ClientCore
) -> None:
    closes(cluster, 1_000)
    is_old(cluster)
    assert list(world.run_until(client.cluster_with(["orders"])).nodes) == [1]
    # Suspected, and proven old on the next connection; then it gets a Metadata request without ApiVersions.
    assert requested_apis(cluster) == [(API_VERSIONS, 4), (METADATA, 1), (METADATA, 0)]
    known = client.client.api_versions.get(-1)
    assert known is not None
    assert known.ranges[PRODUCE] == VersionRange(0, 0)


def test_a_node_that_lost_one_connection_is_as_new_as_its_response(
    world: World, cluster: ScriptedCluster, client: ClientCore
) -> None:
    closes(cluster, 1)
    world.run_until(client.cluster_with(["orders"]))
    assert requested_apis(cluster) == [(API_VERSIONS, 4), (METADATA, 1), (API_VERSIONS, 4), (METADATA, 13)]


def test_a_node_that_keeps_closing_on_api_versions_gets_it_again(
    world: World, cluster: ScriptedCluster, client: ClientCore
) -> None:
    closes(cluster, 5)
    world.run_until(client.cluster_with(["orders"]))
    assert requested_apis(cluster) == [
        (API_VERSIONS, 4),
        *[(METADATA, 1), (API_VERSIONS, 4)] * 5,
        (METADATA, 13),
    ]


def test_a_silent_node_that_serves_the_probe_is_older_than_0_10(
    world: World, cluster: ScriptedCluster, client: ClientCore
) -> None:
    cluster.silent_apis.append(API_VERSIONS)
    is_old(cluster)
    world.run_until(client.cluster_with(["orders"]))
    assert requested_apis(cluster) == [(API_VERSIONS, 4), (METADATA, 1), (METADATA, 0)]
    assert SILENCE_MS <= cluster.seen[1].time_ms - cluster.seen[0].time_ms < SILENCE_MS + 10
    assert client.client.selector.connections_closed == 0
    assert client.client.in_flight_count() == 0


def test_a_slow_node_is_as_new_as_its_response(world: World, cluster: ScriptedCluster, client: ClientCore) -> None:
    connection_delay_ms = SILENCE_MS + 500

    def late(broker: Any, _: Any, version: int) -> Any:
        del cluster.handlers[API_VERSIONS]
        connection = broker.connections[-1]
        connection.free_at_us = world.reactor.now_us + connection_delay_ms * 1000
        return connection.versions()

    cluster.handlers[API_VERSIONS] = late
    world.run_until(client.cluster_with(["orders"]))
    assert requested_apis(cluster) == [(API_VERSIONS, 4), (METADATA, 1), (METADATA, 13)]
    assert client.client.selector.connections_closed == 0


def test_a_new_node_whose_response_was_lost_is_awaited(world: World, cluster: ScriptedCluster) -> None:
    cluster.silent_apis.append(API_VERSIONS)
    client = client_on(world, cluster, request_timeout_ms=3_000)
    with pytest.raises(ProducerTimeout, match=r"request\.timeout\.ms"):
        world.run_until(client.cluster_with(["orders"], timeout_ms=4_000))
    # Three seconds after ApiVersions the connection is closed; the node that served the probe is no old broker.
    assert requested_apis(cluster)[:3] == [(API_VERSIONS, 4), (METADATA, 1), (API_VERSIONS, 4)]
    assert 3_000 < cluster.seen[2].time_ms - cluster.seen[0].time_ms < 3_200
    client.close()


def test_a_silent_node_times_out_as_in_kafka(world: World, cluster: ScriptedCluster) -> None:
    cluster.silent_apis += [API_VERSIONS, METADATA]
    client = client_on(world, cluster, request_timeout_ms=3_000)
    with pytest.raises(ProducerTimeout, match=r"request\.timeout\.ms"):
        world.run_until(client.cluster_with(["orders"], timeout_ms=4_000))
    assert requested_apis(cluster)[:3] == [(API_VERSIONS, 4), (METADATA, 1), (API_VERSIONS, 4)]
    client.close()


def test_what_was_proven_is_kept_for_the_address_for_a_time() -> None:
    checks = VersionChecks()
    now_ms = 5_000
    assert begin(checks, now_ms) is VersionCheck.REQUEST
    checks.requested(1, now_ms)
    checks.closed(1, unanswered=True)
    assert begin(checks, now_ms) is VersionCheck.PROBE
    assert checks.probe_responded(1, now_ms, 0) is VersionCheck.ASSUME
    for later_ms in (0, OLD_BROKER_KEPT_MS - 1):
        assert begin(checks, now_ms + later_ms) is VersionCheck.ASSUME
        checks.unproven.pop(1)  # a response came
        checks.closed(1, unanswered=False)
    assert begin(checks, now_ms, node_id=2) is VersionCheck.ASSUME
    assert begin(checks, now_ms, ("elsewhere", PORT)) is VersionCheck.REQUEST
    assert begin(checks, now_ms + OLD_BROKER_KEPT_MS) is VersionCheck.REQUEST


def test_an_old_broker_that_falls_silent_gets_a_new_version_check() -> None:
    checks = proven()
    assert begin(checks, 0) is VersionCheck.ASSUME
    checks.closed(1, unanswered=False)
    assert begin(checks, 0) is VersionCheck.REQUEST


def test_a_probe_without_a_response_proves_nothing() -> None:
    checks = VersionChecks()
    begin(checks, 0)
    checks.requested(1, 0)
    checks.closed(1, unanswered=True)
    assert begin(checks, 0) is VersionCheck.PROBE
    checks.closed(1, unanswered=True)
    assert begin(checks, 0) is VersionCheck.REQUEST


def test_a_probe_with_a_response_in_order_proves_nothing() -> None:
    checks = VersionChecks()
    begin(checks, 0)
    checks.requested(1, 0)
    checks.probed_behind(1)
    checks.requested(1, 0)  # a slow broker refused our version of ApiVersions: it gets a request in its own
    assert checks.probe_responded(1, 0, 1) is None
    assert 1 in checks.pending


def test_a_connection_closed_by_the_client_proves_nothing_about_the_broker() -> None:
    checks = VersionChecks()
    begin(checks, 0)
    checks.requested(1, 0)
    checks.closed(1, unanswered=False)
    assert begin(checks, 0) is VersionCheck.REQUEST


def test_no_more_than_so_many_addresses_are_kept() -> None:
    checks = VersionChecks()
    for number in range(ADDRESSES_MAX + 1):
        address = (f"broker-{number}", PORT)
        begin(checks, 0, address)
        checks.requested(1, 0)
        checks.closed(1, unanswered=True)
    assert begin(checks, 0, ("broker-0", PORT)) is VersionCheck.REQUEST
    assert begin(checks, 0, ("broker-1", PORT)) is VersionCheck.PROBE


def test_brokers_before_0_10_get_only_their_common_versions() -> None:
    ranges = versions_before_api_versions().ranges
    assert {key: ranges[key].highest for key in (0, 1, 2, 3)} == {0: 0, 1: 0, 2: 0, 3: 0}
    assert API_VERSIONS not in ranges


def begin(checks: VersionChecks, now_ms: int, address: tuple[str, int] = HERE, node_id: int = 1) -> VersionCheck:
    checks.connecting(node_id, address)
    return checks.begin(node_id, now_ms)


def proven() -> VersionChecks:
    checks = VersionChecks()
    begin(checks, 0)
    checks.requested(1, 0)
    checks.probed_behind(1)
    checks.passed_over(1)
    assert checks.probe_responded(1, 0, 0) is VersionCheck.ASSUME
    return checks


def test_where_one_node_is_old_the_others_are_not_waited_for_as_long() -> None:
    checks = proven()
    begin(checks, 0, ("elsewhere", PORT), node_id=2)
    checks.requested(2, 0)
    assert checks.next_silence_ms(0) == SILENCE_AMONG_OLD_MS
    assert checks.silent_nodes(SILENCE_AMONG_OLD_MS) == [2]
