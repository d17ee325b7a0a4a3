"""A cluster on virtual time without sockets, whose handlers are called with requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.rpc.plain_call import PlainCalls
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.topic_spec import TopicSpec


class ApiBench:
    """A cluster, and `exchange`, which sends a broker a request and returns its response."""

    def __init__(
        self, *, brokers: int, topics: Sequence[TopicSpec], config: Mapping[str, str], release: str, seed: int
    ) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(seed),
            brokers=brokers,
            topics=topics,
            config=config,
            release=release,
            listen=False,
        )
        self.cluster.start()

    def exchange(self, request: Any, version: int, *, broker_id: int = 1) -> Any:
        """The response of a broker, encoded and decoded as on the wire."""
        received = type(request).decode(version, request.encode(version))
        response = self.call(received, version, broker_id=broker_id)
        return type(response).decode(version, response.encode(version))

    def call(self, request: Any, version: int, *, broker_id: int = 1, client_id: str | None = None) -> Any:
        """Return the result of a request by reference: a response, or the reason why there is none."""
        calls = PlainCalls(self.cluster.brokers[broker_id])
        return self.reactor.run_until(calls.call(request, version, client_id=client_id), deadline_ms=60_000)

    def call_as(
        self,
        principal: str,
        request: Any,
        version: int,
        *,
        broker_id: int = 1,
        protocol: str = "SASL_PLAINTEXT",
        by_token: bool = False,
    ) -> Any:
        """Return the result of a request of a client that has logged in, by a delegation token if `by_token`."""
        calls = PlainCalls(self.cluster.brokers[broker_id])
        context = calls.context(request, version)
        connection = context.connection
        connection.principal, connection.security_protocol = principal, protocol
        connection.token_authenticated = by_token
        return self.reactor.run_until(calls.serve(context), deadline_ms=60_000)

    def context(
        self, request: Any, version: int, *, broker_id: int = 1, client_id: str | None = None
    ) -> RequestContext:
        """Return the context of a request that is not served yet."""
        return PlainCalls(self.cluster.brokers[broker_id]).context(request, version, client_id=client_id)

    def settle(self) -> None:
        """Let every broker apply what the controller has committed."""
        self.reactor.run_for(ms=10)


@pytest.fixture
def bench() -> Iterator[Callable[..., ApiBench]]:
    benches: list[ApiBench] = []

    def start(
        *,
        brokers: int = 1,
        topics: Sequence[TopicSpec] = (),
        config: Mapping[str, str] | None = None,
        release: str = "4.3.1",
        seed: int = 1,
    ) -> ApiBench:
        benches.append(ApiBench(brokers=brokers, topics=topics, config=config or {}, release=release, seed=seed))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
