"""A cluster, a proxy before it, and clients of the proxy, on one simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.wire_proxy.wire_proxy import WireProxy
from protocol_specs.framing import decode_response
from protocol_specs.registry import response_type
from tests.broker_sim.wire_clients import WireClient, WireNetwork

if TYPE_CHECKING:
    from protocol_specs.message import Message

M = TypeVar("M")


class ProxyNetwork(WireNetwork):
    """`connect_to(n)` is a client of broker n through the proxy."""

    def __init__(self, client_listener: str | None = None, **options: Any) -> None:
        super().__init__(brokers=2, topics=["orders:2:2"], **options)
        self.proxy = WireProxy(
            reactor=self.world.network.host("proxy"),
            streams=self.world.streams,
            upstream=("broker-1", self.cluster.broker(1).port),
            client_ports={
                broker.id: each.port
                for broker in self.cluster.brokers.values()
                for each in broker.listeners.all
                if each.name == client_listener
            },
            host="proxy",
        )
        self.world.run_until(self.proxy.start())
        self.ports = [int(each.rpartition(":")[2]) for each in self.proxy.bootstrap_servers.split(",")]

    def connect_to(self, broker: int = 1, client_id: str = "app") -> WireClient:
        client = self.connect("proxy", self.ports[broker - 1], client_id)
        self.run(1)
        return client

    def rule(self, act: Any, **rule: Any) -> None:
        self.proxy.add(parse_rule({"name": self.proxy.faults.free_name(), "act": act, **rule}))
        self.run(1)

    def call(self, client: WireClient, request: Message, version: int) -> Any:
        """Send a request and return its response, None without one."""
        known = len(client.frames)
        client.send(request, version)
        self.run(1_000)
        if len(client.frames) == known:
            return None
        return decode_response(response_type(request.API_KEY), version, client.frames[known])[1]  # type: ignore[arg-type]


@pytest.fixture
def network() -> ProxyNetwork:
    return ProxyNetwork()
