from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import ConnectionClosed, ConnectionOpened, RequestReceived, ResponseSent
from broker_sim.errors import BrokerSimError
from broker_sim.faults.rule import RuleError
from broker_sim.wire_proxy.wire_proxy import WireProxy
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.metadata import MetadataRequest
from tests.broker_sim.wire_proxy.conftest import ProxyNetwork


@pytest.mark.parametrize("version", [0, 4, 12])
def test_metadata_names_the_proxy(network: Any, version: int) -> None:
    topics = [] if version == 0 else None
    response = network.call(network.connect_to(1), MetadataRequest(topics=topics), version)
    assert {broker.node_id: (broker.host, broker.port) for broker in response.brokers} == {
        1: ("proxy", network.ports[0]),
        2: ("proxy", network.ports[1]),
    }


def test_clients_reach_the_listener_that_is_for_them() -> None:
    listeners = {
        "listeners": "PLAINTEXT://:0,CLIENTS://:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT",
    }
    network = ProxyNetwork("CLIENTS", config=listeners)
    response = network.call(network.connect_to(2), MetadataRequest(topics=None), 12)
    assert [(broker.host, broker.port) for broker in response.brokers] == [("proxy", port) for port in network.ports]
    opened = [event for event in network.cluster.journal.events if isinstance(event, ConnectionOpened)]
    assert [(event.broker_id, event.listener) for event in opened] == [(1, "PLAINTEXT"), (2, "CLIENTS")]
    # The proxy's own requests stay at the listener that it was given.
    assert network.world.run_until(Deferred.fromCoroutine(network.proxy.serve(2)))
    assert {broker.port for broker in network.cluster.brokers.values()} == {
        port for _, port in network.proxy.cluster.addresses.values()
    }


@pytest.mark.parametrize("version", [0, 3, 4])
def test_coordinators_are_at_the_proxy(network: Any, version: int) -> None:
    request = FindCoordinatorRequest(key="g") if version < 4 else FindCoordinatorRequest(coordinator_keys=["g"])
    client = network.connect_to(2)
    network.call(client, request, version)  # the offsets topic is created
    response = network.call(client, request, version)
    found = response if version < 4 else response.coordinators[0]
    assert (found.host, found.port) == ("proxy", network.ports[found.node_id - 1])


def test_a_described_cluster_is_at_the_proxy(network: Any) -> None:
    response = network.call(network.connect_to(), DescribeClusterRequest(), 0)
    assert [(each.host, each.port) for each in response.brokers] == [("proxy", port) for port in network.ports]


def test_the_journal_has_requests_and_responses(network: Any) -> None:
    client = network.connect_to()
    network.exchange(client)
    events = network.proxy.journal.events
    requests = [event for event in events if isinstance(event, RequestReceived)]
    responses = [event for event in events if isinstance(event, ResponseSent)]
    assert [(each.api, each.broker_id, each.client_id) for each in requests] == [("ApiVersions", 1, "app")]
    assert [each.request_id for each in responses] == [each.request_id for each in requests]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"act": {"kill": 1}}, "act: kill needs broker processes that can be killed and started"),
        ({"act": {"delete_topic": "orders"}}, "act: delete_topic needs the requests of an administrator"),
        ({"act": {"lag_metadata": {"broker": 1, "ms": 5}}}, "act: lag_metadata needs a simulated cluster"),
        ({"act": {"refuse": 3}}, "there is no broker 3: they are \\[1, 2\\]"),
    ],
)
def test_a_rule_that_needs_more_than_the_wire_is_refused(network: Any, rule: dict[str, Any], problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        network.rule(**rule)


def test_an_upstream_that_does_not_accept_is_named(network: Any) -> None:
    proxy = WireProxy(
        reactor=network.world.network.host("other"), streams=network.world.streams, upstream=("broker-1", 1)
    )
    with pytest.raises(BrokerSimError, match="cannot connect"):
        network.world.run_until(proxy.start())


def test_the_end_resets_connections_and_closes_listeners(network: Any) -> None:
    client = network.connect_to()
    network.exchange(client)
    network.world.run_until(network.proxy.close())
    network.run(1)
    assert client.ended_ms is not None
    assert network.connect_to().ended_ms is not None


def served(network: Any) -> list[int]:
    """The requests for metadata that the brokers have got, by their versions."""
    requests = [event for event in network.cluster.journal.events if isinstance(event, RequestReceived)]
    return [event.api_version for event in requests if event.api == "Metadata" and event.client_id == "app"]


def test_held_requests_reach_the_broker_when_the_client_has_gone(network: Any) -> None:
    network.rule("hold", select={"api": "Metadata", "nth": 1}, phase="before_parse", until={"delay_ms": 100})
    client = network.connect_to()
    client.send(MetadataRequest(topics=None), 12)
    client.send(MetadataRequest(topics=None), 11)
    network.run(10)
    client.close()
    network.run(50)
    assert served(network) == []
    network.run(100)
    assert served(network) == [12, 11]
    assert open_connections(network) == 0


def test_the_end_resets_the_connection_of_a_client_that_has_gone(network: Any) -> None:
    network.rule("hold", select={"api": "Metadata"}, phase="before_parse")
    client = network.connect_to()
    client.send(MetadataRequest(topics=None), 12)
    network.run(10)
    client.close()
    network.run(10)
    assert open_connections(network) == 1
    network.world.run_until(network.proxy.close())
    network.run(10)
    assert open_connections(network) == 0


def open_connections(network: Any) -> int:
    """The connections from the proxy to the brokers."""
    events = network.cluster.journal.events
    opened = {event.connection_id for event in events if isinstance(event, ConnectionOpened)}
    return len(opened - {event.connection_id for event in events if isinstance(event, ConnectionClosed)})
