"""A client that lost its cluster begins anew with bootstrap.servers (KIP-899, KIP-1102), with Java's timing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import ConnectionFailed
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.metadata import MetadataResponse
from tests.client.scripted_broker import INIT_PRODUCER_ID, METADATA, PORT, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World

    ClientOn = Callable[..., ClientCore]
    ProducerOn = Callable[..., ProducerCore]


@pytest.fixture
def three(world: World) -> ScriptedCluster:
    cluster = ScriptedCluster(world, brokers=3)
    cluster.create("orders", 3)
    return cluster


def requires_rebootstrap(cluster: ScriptedCluster, times: int) -> None:
    left = [times]

    def given_response(broker: Any, request: Any, _: int) -> Any:
        left[0] -= 1
        if not left[0]:
            del cluster.handlers[METADATA]
        return MetadataResponse(
            error_code=ErrorCode.REBOOTSTRAP_REQUIRED, brokers=broker.connections[-1].metadata(request).brokers
        )

    cluster.handlers[METADATA] = given_response


def connections(cluster: ScriptedCluster) -> list[Any]:
    return [connection for broker in cluster.brokers.values() for connection in broker.connections]


def responses_for(host: str) -> Any:
    def given_response(broker: Any, request: Any, _: int) -> Any:
        response = broker.connections[-1].metadata(request)
        response.brokers[0].host = host
        return response

    return given_response


def test_a_broker_may_require_it(world: World, three: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(three)
    world.run_until(client.cluster_with(["orders"]))
    for node in (1, 2, 3):
        world.run_until(
            client.request(
                InitProducerIdRequest, lambda _: InitProducerIdRequest(transaction_timeout_ms=1), node_id=node
            )
        )
    before = connections(three)
    assert len(before) == 4
    requires_rebootstrap(three, 1)
    world.run_until(client.cluster_with(["orders"], refresh=True))
    # The connections to what was known are closed, which backs off as usual; then the bootstrap address is used.
    refused, requested = three.requests(METADATA)[-2:]
    assert requested.broker == 1
    assert 80 <= requested.time_ms - refused.time_ms <= 125
    world.run_for(ms=10)
    assert connections(three) == before[:1]
    assert not client.metadata.cluster.is_bootstrap


def test_it_is_not_obeyed_with_the_strategy_none(world: World, three: ScriptedCluster, client_on: ClientOn) -> None:
    client = client_on(three, rebootstrap=False)
    world.run_until(client.cluster_with(["orders"]))
    requires_rebootstrap(three, 1)
    world.run_until(client.cluster_with(["orders"], refresh=True))
    assert len(three.requests(METADATA)) == 2
    assert not client.metadata.cluster.is_bootstrap


@pytest.mark.parametrize(("rebootstrap", "uses_the_bootstrap_address"), [(True, True), (False, False)])
def test_where_no_known_node_can_be_tried_the_bootstrap_addresses_are_at_once(
    world: World, client_on: ClientOn, rebootstrap: bool, uses_the_bootstrap_address: bool
) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    client = client_on(cluster, rebootstrap=rebootstrap, reconnect_backoff_ms=5_000, reconnect_backoff_max_ms=5_000)
    world.run_until(client.cluster_with(()))
    # The bootstrap connection is gone when the cluster goes: another will be there.
    cluster.brokers[1].crash()
    cluster.brokers[2].crash()
    world.run_for(ms=100)
    client.metadata.request_update()
    world.run_for(ms=6_500)
    # With no node left to try, all in their back-off, the snapshot is the bootstrap addresses again; or stays.
    assert client.metadata.cluster.is_bootstrap is uses_the_bootstrap_address


@pytest.mark.parametrize("trigger_ms", [2_000, 7_000])
def test_without_a_response_it_begins_when_its_time_is_over(
    world: World, three: ScriptedCluster, client_on: ClientOn, trigger_ms: int
) -> None:
    client = client_on(three, rebootstrap_trigger_ms=trigger_ms, request_timeout_ms=500)
    world.run_until(client.cluster_with(["orders"]))
    three.silent_apis.append(METADATA)
    began_ms = world.reactor.now_us // 1000
    client.metadata.request_update()
    client.client.selector._on_event()  # a turn, in which the first attempt begins
    while not client.metadata.cluster.is_bootstrap:
        world.run_for(ms=10)
        assert world.reactor.now_us // 1000 - began_ms < trigger_ms + 3_000
    assert world.reactor.now_us // 1000 - began_ms > trigger_ms
    three.silent_apis.clear()
    world.run_until(client.cluster_with(["orders"]))
    assert not client.metadata.cluster.is_bootstrap


def test_requests_under_way_end_with_their_connections_then(
    world: World, three: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(three, rebootstrap_trigger_ms=2_000, connections_max_idle_ms=5_000)
    world.run_until(client.cluster_with(["orders"]))
    three.silent_apis += [METADATA, INIT_PRODUCER_ID]
    client.metadata.request_update()
    request = InitProducerIdRequest(transaction_timeout_ms=1)
    # No time-out of theirs has passed; the turn that comes next is that of a connection that was idle.
    with pytest.raises(ConnectionFailed, match="node 2 was disconnected"):
        world.run_until(client.request(InitProducerIdRequest, lambda _: request, node_id=2))
    assert client.metadata.cluster.is_bootstrap


def test_without_a_response_nothing_begins_with_the_strategy_none(
    world: World, three: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(three, rebootstrap=False, rebootstrap_trigger_ms=2_000, request_timeout_ms=500)
    world.run_until(client.cluster_with(["orders"]))
    three.silent_apis.append(METADATA)
    client.metadata.request_update()
    world.run_for(ms=10_000)
    assert not client.metadata.cluster.is_bootstrap


def test_a_producer_goes_on_where_the_cluster_is_now(world: World, producer_on: ProducerOn) -> None:
    old = ScriptedCluster(world, brokers=2)
    old.create("orders")
    producer = producer_on(
        old, bootstrap_servers=["broker-1:9092", "new-place:9092"], enable_idempotence=False, retry_backoff_ms=100
    )
    assert world.run_until(producer.send("orders", b"before").as_deferred()).offset == 0
    for broker in old.brokers.values():
        broker.crash()
    sent = producer.send("orders", b"behind")
    world.run_for(ms=3_000)
    moved = ScriptedCluster(world, brokers=0)
    moved.brokers = {1: old.brokers[1]}
    moved.create("orders")
    old.brokers[1].cluster = moved
    # The same broker, at another address, which it announces as well.
    world.network.host("new-place").listenTCP(PORT, old.brokers[1])
    moved.handlers[METADATA] = responses_for("new-place")
    assert world.run_until(sent.as_deferred()).offset == 0
    assert moved.values("orders") == [b"behind"]
