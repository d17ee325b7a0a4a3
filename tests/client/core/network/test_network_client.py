"""Connections and requests below the producer: choice of node, time-outs, broken responses, re-bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.network.cluster_connection_states import NEVER_MS
from broker_client.errors import ConnectionFailed, IllegalState, ProducerClosed, ProducerTimeout, UnsupportedVersion
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.client.scripted_broker import API_VERSIONS, INIT_PRODUCER_ID, METADATA, PORT, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.network.client_core import ClientCore
    from sim_runtime.world import World

    ClientOn = Callable[..., ClientCore]


@pytest.fixture
def client_on(client_on: ClientOn) -> ClientOn:
    """They begin with every broker of the cluster."""

    def make(cluster: ScriptedCluster, **network: Any) -> ClientCore:
        servers = [(f"broker-{number}", PORT) for number in cluster.brokers]
        return client_on(cluster, **{"servers": servers, **network})

    return make


def init_producer_id(_: int) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)


def send_request(
    client: ClientCore, node_id: int | None = None, timeout_ms: int = 5_000, *, at_once: bool = False
) -> Any:
    return client.request(
        InitProducerIdRequest, init_producer_id, node_id=node_id, timeout_ms=timeout_ms, at_once=at_once
    )


def test_a_request_to_any_node_gets_its_response(world: World, cluster: ScriptedCluster, client_on: ClientOn) -> None:
    response = world.run_until(send_request(client_on(cluster)))
    assert isinstance(response, InitProducerIdResponse)
    assert response.producer_id == 1000


def test_the_metadata_is_requested_before_anything_else(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    world.run_until(send_request(client_on(cluster)))
    assert [requested.api_key for requested in cluster.seen][:2] == [API_VERSIONS, METADATA]


def test_correlation_ids_leave_out_those_of_sasl(world: World, cluster: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(cluster).client
    client._correlation_id = 2**31 - 9
    assert [client._next_correlation_id() for _ in range(3)] == [2**31 - 9, -(2**31), -(2**31) + 1]
    client.close()


def test_a_broker_that_does_not_know_our_api_versions_gets_its_own(world: World, client_on: ClientOn) -> None:
    cluster = ScriptedCluster(world, release="2.4.1")
    world.run_until(send_request(client_on(cluster)))
    assert [requested.api_version for requested in cluster.requests(API_VERSIONS)][:1] == [3]


def test_an_api_that_the_node_does_not_speak_is_refused_with_both_ranges(world: World, client_on: ClientOn) -> None:
    client = client_on(ScriptedCluster(world, release="2.4.1"))
    with pytest.raises(UnsupportedVersion, match="the node does not support DescribeCluster"):
        world.run_until(client.request(DescribeClusterRequest, lambda _: DescribeClusterRequest()))


def test_brokers_that_would_create_named_topics_get_a_request_for_all(world: World, client_on: ClientOn) -> None:
    cluster = ScriptedCluster(world, release="0.10.2.2")
    cluster.create("orders")
    found = world.run_until(client_on(cluster).cluster_with(["orders", "nothing"]))
    assert list(found.topics) == ["orders"]
    assert {requested.request.topics for requested in cluster.requests(METADATA)} == {None}


def test_an_overdue_request_closes_its_connection_and_ends_by_its_timeout(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    cluster.silent_apis.append(INIT_PRODUCER_ID)
    began_us = world.reactor.now_us
    with pytest.raises(ProducerTimeout, match="did not respond to InitProducerId within 700 ms"):
        world.run_until(send_request(client, timeout_ms=700))
    assert 700_000 <= world.reactor.now_us - began_us < 705_000
    assert client.client.selector.connections_closed == 1


def test_a_request_at_once_is_sent_before_it_returns_and_has_its_timeout(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    world.run_for(ms=1)
    (node_id,) = client.metadata.cluster.nodes
    sent_before = client.client.in_flight_count()
    response = send_request(client, node_id, at_once=True)
    assert client.client.in_flight_count() == sent_before + 1
    world.run_until(response)
    cluster.silent_apis.append(INIT_PRODUCER_ID)
    began_us = world.reactor.now_us
    with pytest.raises(ProducerTimeout, match="within 700 ms"):
        world.run_until(send_request(client, node_id, timeout_ms=700, at_once=True))
    assert 700_000 <= world.reactor.now_us - began_us < 705_000


def test_a_request_at_once_waits_behind_others_and_for_its_connection(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    first = send_request(client, at_once=True)
    assert client.unsent_count == 1
    world.run_until(first)
    waiting = send_request(client)
    response = send_request(client, at_once=True)
    assert client.unsent_count == 2
    world.run_until(waiting)
    world.run_until(response)


def test_an_update_that_a_completed_request_needs_is_sent_at_once(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    world.run_for(ms=200)  # retry.backoff.ms is over
    updates = len(cluster.requests(METADATA))
    response = send_request(client)
    response.addCallback(lambda _: client.metadata.request_update())
    world.run_until(response)
    world.run_for(ms=5)
    assert len(cluster.requests(METADATA)) == updates + 1


def test_a_lost_connection_ends_its_requests(world: World, cluster: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    cluster.silent_apis.append(INIT_PRODUCER_ID)
    given_response = send_request(client)
    world.run_for(ms=10)
    cluster.brokers[1].crash()
    with pytest.raises(ConnectionFailed, match="disconnected during InitProducerId"):
        world.run_until(given_response)


def test_a_connection_that_is_never_made_ends_by_the_set_up_timeout(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    world.network.link("client", "broker-1").cut()
    client = client_on(cluster, socket_connection_setup_timeout_ms=1_000)
    with pytest.raises(ProducerTimeout, match=r"socket\.connection\.setup\.timeout\.ms"):
        world.run_until(send_request(client, timeout_ms=3_000))


def test_the_other_bootstrap_address_is_tried(world: World, cluster: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(cluster, servers=[("broker-1", 1), ("broker-1", 2), ("broker-1", PORT)])
    assert world.run_until(send_request(client)).producer_id == 1000


def test_a_node_is_known_by_its_announced_address(world: World, client_on: ClientOn) -> None:
    cluster = ScriptedCluster(world, brokers=3)
    client = client_on(cluster, servers=[("broker-1", PORT)])
    world.run_until(client.cluster_with(()))
    world.run_until(send_request(client, node_id=3))
    assert cluster.requests(INIT_PRODUCER_ID)[0].broker == 3


def test_without_metadata_for_too_long_the_bootstrap_addresses_are_used_again(
    world: World, client_on: ClientOn
) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    client = client_on(cluster, servers=[("broker-1", PORT), ("new-place", PORT)], rebootstrap_trigger_ms=2_000)
    world.run_until(client.cluster_with(()))
    for broker in cluster.brokers.values():
        broker.crash()
    world.run_for(ms=3_000)
    moved = ScriptedCluster(world, brokers=0)
    moved.brokers = {1: cluster.brokers[1]}
    cluster.brokers[1].cluster = moved
    world.network.host("new-place").listenTCP(PORT, cluster.brokers[1])
    world.run_for(ms=3_000)
    assert moved.requests(METADATA)


def test_a_request_with_a_broken_response_ends_with_its_connection(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    cluster.silent_apis.append(INIT_PRODUCER_ID)
    given_response = send_request(client, timeout_ms=20_000)
    world.run_for(ms=10)
    connection = cluster.brokers[1].connections[-1]
    connection.transport.write(b"\0\0\0\x06" + b"\0\0\x30\x39" + b"\0\0")
    world.run_for(ms=10)
    assert client.client.selector.connections_closed == 0
    cluster.brokers[1].crash()
    with pytest.raises(ConnectionFailed):
        world.run_until(given_response)


def test_a_request_to_a_node_that_is_not_ready_is_our_mistake(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    with pytest.raises(IllegalState, match="node 1, which is not ready"):
        client.client.send(1, init_producer_id(0), 0, callback=lambda _: None)


def test_close_ends_what_waits(world: World, cluster: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(cluster, servers=[("broker-1", 1)])
    given_response = send_request(client)
    client.close()
    with pytest.raises(ProducerClosed):
        world.run_until(given_response)
    with pytest.raises(ProducerClosed):
        client.request(FetchRequest, lambda _: FetchRequest(max_wait_ms=0, min_bytes=0))


def test_an_idle_client_sleeps(world: World, cluster: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    world.run_for(ms=1_000)
    before = world.reactor.calls_made
    world.run_for(ms=20_000)
    assert world.reactor.calls_made - before <= 2
    assert client.client.next_poll_ms < NEVER_MS
