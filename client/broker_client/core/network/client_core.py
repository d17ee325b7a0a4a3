"""Requests to brokers as Deferreds, on a network client of one's own: what Consumer and Admin stand on.

Mirrors ConsumerNetworkClient and KafkaAdminClient's runnable: requests wait until their node is ready, each with a
deadline of its own; responses complete them in an iteration of the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import Deferred

from broker_client.core.client_parts import NETWORK_PARTS, NetworkParts, parts_with
from broker_client.core.metrics.selector_metrics import MeasuredRunnable
from broker_client.core.network.in_flight_requests import ClientResponse, Delivery
from broker_client.core.network.reactor_signal import metadata_change
from broker_client.core.producer.sender_loop import SenderLoop, now_ms_of
from broker_client.errors import (
    ConnectionFailed,
    ProducerClosed,
    ProducerError,
    ProducerTimeout,
    UnsupportedVersion,
)
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from broker_client.core.metrics.event_metrics import EventMetrics
    from broker_client.core.metrics.selector_metrics import SelectorMetrics
    from broker_client.core.network.cluster import Cluster, Node
    from broker_client.core.network.network_client import NetworkClientConfig
    from protocol_specs.message import Message
    from sim_runtime.interfaces import IReactor

__all__ = ["ANY_NODE", "ClientCore", "ClientOptions"]

NEVER_MS: Final = 1 << 62
ANY_NODE: Final = None
RETRY_BACKOFF_MS: Final = 100
RETRY_BACKOFF_MAX_MS: Final = 1_000
METADATA_MAX_IDLE_MS: Final = 300_000

M = TypeVar("M", bound="Message")


@dataclass(slots=True, kw_only=True, frozen=True)
class ClientOptions:
    """The options of a small client under Kafka's names; times are in milliseconds."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    network: NetworkClientConfig
    default_api_timeout_ms: int = 60_000
    metadata_max_age_ms: int = 300_000
    retry_backoff_ms: int = RETRY_BACKOFF_MS
    retry_backoff_max_ms: int = RETRY_BACKOFF_MAX_MS


@dataclass(slots=True, kw_only=True)
class _Unsent:
    kind: type[Message]
    build: Callable[[int], Message]
    node_id: int | None
    node: Node | None
    deadline_ms: int
    timeout_ms: int
    highest_version: int | None
    response: Deferred[Any]


class ClientCore:
    """Call everything on the reactor's thread.

    `defects` are names of `broker_client.defects`; a ConsumerCore on this client has them, too.
    """

    def __init__(
        self,
        options: ClientOptions,
        reactor: IReactor,
        random: random.Random,
        *,
        call_from_thread: Callable[[Callable[[], None]], object] | None = None,
        all_topics: bool = False,
        by_subscription: bool = False,
        allow_auto_topic_creation: bool = False,
        defects: Iterable[str] = (),
    ) -> None:
        self.parts = parts = _parts_with(tuple(defects))
        self.options = options
        self.reactor = reactor
        self.random = random
        self._unsent: list[_Unsent] = []
        self._closed = False
        self.metadata = parts.metadata(
            bootstrap=options.bootstrap_servers,
            refresh_backoff=ExponentialBackoff(options.retry_backoff_ms, options.retry_backoff_max_ms, 2, 0.2, random),
            expire_ms=options.metadata_max_age_ms,
            idle_ms=METADATA_MAX_IDLE_MS,
            all_topics=all_topics,
            by_subscription=by_subscription,
            allow_auto_topic_creation=allow_auto_topic_creation,
        )
        self.client = parts.network_client(
            config=options.network,
            metadata=self.metadata,
            reactor=reactor,
            random=random,
            on_event=self._on_event,
        )
        self._loop = SenderLoop(
            runnable=self,
            reactor=reactor,
            call_from_thread=call_from_thread or (lambda function: reactor.callLater(0, function)),
        )
        self._measured: MeasuredRunnable | None = None
        self.event_metrics: EventMetrics | None = None
        self._loop.wakeup()

    def measure_with(self, metrics: SelectorMetrics) -> None:
        """Record connections, bytes and the time of the iterations."""
        self.client.selector.sensors = metrics
        self._measured = MeasuredRunnable(self, metrics, self.reactor.seconds)

    @property
    def unsent_count(self) -> int:
        """The requests that wait for their connection."""
        return len(self._unsent)

    @property
    def is_closed(self) -> bool:
        """True after `close`: no request can be sent any more."""
        return self._closed

    def request(
        self,
        kind: type[M],
        build: Callable[[int], M],
        *,
        node_id: int | None = ANY_NODE,
        node: Node | None = None,
        timeout_ms: int | None = None,
        highest_version: int | None = None,
        at_once: bool = False,
    ) -> Deferred[Any]:
        """Send to a node, or to the least loaded one; fires with the response message.

        `node` is a node that is not in the metadata: a group coordinator has a connection of its own. `build`
        makes the request for the version that the node speaks. With `at_once` it is sent before this returns if no
        other request waits and the node is ready. Fails with ProducerTimeout, ConnectionFailed or UnsupportedVersion.
        """
        if self._closed:
            raise ProducerClosed(f"cannot send {kind.NAME}: the client is closed")
        limit_ms = self.options.default_api_timeout_ms if timeout_ms is None else timeout_ms
        response: Deferred[Any] = Deferred()
        now_ms = now_ms_of(self.reactor)
        unsent = _Unsent(
            kind=kind,
            build=build,
            node_id=node_id if node is None else node.id,
            node=node,
            deadline_ms=now_ms + limit_ms,
            timeout_ms=limit_ms,
            highest_version=highest_version,
            response=response,
        )
        self._unsent.append(unsent)
        if at_once and len(self._unsent) == 1:
            self._try_to_send(unsent, now_ms)
        if self._unsent:
            self._loop.on_event()
        else:
            self._loop.run_within(self.client.time_out_ms - now_ms)
        return response

    async def cluster_with(
        self, topics: Iterable[str], *, refresh: bool = False, timeout_ms: int | None = None
    ) -> Cluster:
        """A snapshot from a broker whose request named all of `topics`; unknown ones are missing from it."""
        wanted = list(topics)
        metadata = self.metadata
        limit_ms = self.options.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = now_ms_of(self.reactor) + limit_ms
        version = metadata.update_version
        for topic in wanted:
            metadata.add(topic, now_ms_of(self.reactor))
        known = all(topic in metadata.cluster.topics for topic in wanted)
        if not refresh and known and not metadata.cluster.is_bootstrap:
            return metadata.cluster
        metadata.request_update()
        while metadata.update_version == version or metadata.cluster.is_bootstrap:
            left_ms = deadline_ms - now_ms_of(self.reactor)
            if left_ms <= 0:
                problems = "; ".join(self.client.connection_problems())
                text = f"no metadata from bootstrap.servers after {limit_ms} ms"
                raise ProducerTimeout(f"{text} ({problems})" if problems else text, "default.api.timeout.ms")
            if self._closed:
                raise ProducerClosed("the client was closed while it waited for metadata")
            fatal = metadata.take_fatal_error()
            if fatal is not None:
                raise fatal
            self._loop.wakeup()
            await metadata_change(metadata, self.reactor, left_ms)
        return metadata.cluster

    def is_unavailable(self, node: Node) -> bool:
        """True if the last connection to a node failed and may not be tried again yet."""
        now_ms = now_ms_of(self.reactor)
        states = self.client.connection_states
        return states.is_disconnected(node.id) and states.connection_delay_ms(node.id, now_ms) > 0

    def connect(self, node: Node) -> None:
        """Begin a connection to a node, if there is none and one may begin."""
        self.client.ready(node, now_ms_of(self.reactor))
        self._loop.wakeup()

    def disconnect(self, node_id: int) -> None:
        """Close the connection to a node; requests that wait for it fail."""
        self.client.disconnect(node_id, now_ms_of(self.reactor))
        self._loop.wakeup()

    def wakeup(self) -> None:
        """Run an iteration soon; from any thread."""
        self._loop.wakeup()

    def run_now(self) -> None:
        """Run an iteration before returning, on the reactor's thread; within an iteration, run another one next."""
        self._loop.run_now()

    def push_last_metrics(self) -> None:
        """Send the metrics that a client pushes as it closes, if a connection for them is there."""
        telemetry = self.client.telemetry
        if telemetry is not None and telemetry.has_last_push(now_ms_of(self.reactor)):
            self.run_now()

    def run_once(self, now_ms: int) -> int:
        """One turn: send what can go, poll, give up what is late."""
        if self.event_metrics is not None:
            self.event_metrics.polled(now_ms)
        return self._run(now_ms) if self._measured is None else self._measured.measure(self._run, now_ms)

    def close(self) -> None:
        """Fail what waits and close every connection."""
        if self._closed:
            return
        self._closed = True
        self._loop.stop()
        self._fail_unsent(ProducerClosed("the client was closed before the request was sent"))
        self.client.close()

    # Details

    def _run(self, now_ms: int) -> int:
        due_ms = self.client.time_out_ms
        if now_ms >= due_ms and not self.client.selector.has_read_since(due_ms, now_ms):
            return NEVER_MS
        wait_ms = NEVER_MS
        fatal = self.metadata.take_fatal_error() if self._unsent else None
        if fatal is not None:
            self._fail_unsent(fatal)
        for unsent in list(self._unsent):
            wait_ms = min(wait_ms, self._try_to_send(unsent, now_ms))
        again = self.client.poll(now_ms)
        if self._unsent and self.client.completed:
            again = True  # there is room on a connection
        return 0 if again else min(wait_ms, self.client.next_poll_ms)

    def _on_event(self) -> None:
        self._loop.on_event()

    def _fail_unsent(self, error: ProducerError) -> None:
        unsent, self._unsent = self._unsent, []
        for one in unsent:
            one.response.errback(error)

    def _try_to_send(self, unsent: _Unsent, now_ms: int) -> int:
        """Send or fail; otherwise return the milliseconds to wait."""
        if now_ms >= unsent.deadline_ms:
            self._unsent.remove(unsent)
            problems = "; ".join(self.client.connection_problems())
            text = f"{unsent.kind.NAME} could not be sent within {unsent.timeout_ms} ms"
            unsent.response.errback(
                ProducerTimeout(f"{text} ({problems})" if problems else text, "default.api.timeout.ms")
            )
            return NEVER_MS
        left_ms = unsent.deadline_ms - now_ms
        if unsent.node is not None:
            node: Node | None = unsent.node
        elif unsent.node_id is None:
            node, _ = self.client.least_loaded_node(now_ms)
        else:
            node = self.metadata.cluster.nodes.get(unsent.node_id)
        if node is None:
            self.metadata.request_update()
            return min(left_ms, self.options.retry_backoff_ms)
        if not self.client.ready(node, now_ms):
            if unsent.node_id is not None and self.client.connection_states.is_disconnected(node.id):
                # Its node is down: the caller may know another by now.
                self._unsent.remove(unsent)
                reason = self.client.connection_states.last_error(node.id) or "disconnected"
                unsent.response.errback(ConnectionFailed(f"{unsent.kind.NAME} to node {node.id}: {reason}"))
                return NEVER_MS
            return min(left_ms, self.client.poll_delay_ms(node.id, now_ms))
        self._unsent.remove(unsent)
        if self.event_metrics is not None:
            self.event_metrics.sent(now_ms - (unsent.deadline_ms - unsent.timeout_ms), now_ms)
        self._send(unsent, node.id, now_ms)
        return NEVER_MS

    def _send(self, unsent: _Unsent, node_id: int, now_ms: int) -> None:
        versions = self.client.api_versions.get(node_id)
        assert versions is not None, "the versions of a ready node are known"
        try:
            request = unsent.build(versions.latest_usable(unsent.kind, unsent.highest_version))
        except UnsupportedVersion as error:
            unsent.response.errback(error)
            return

        def on_response(response: ClientResponse) -> None:
            if response.body is not None:
                unsent.response.callback(response.body)
            elif response.mismatch is not None:
                unsent.response.errback(response.mismatch)
            elif response.delivery is Delivery.TIMED_OUT:
                text = f"node {node_id} did not respond to {unsent.kind.NAME} within {unsent.timeout_ms} ms"
                unsent.response.errback(ProducerTimeout(text, "request.timeout.ms"))
            else:
                unsent.response.errback(ConnectionFailed(f"node {node_id} was disconnected during {unsent.kind.NAME}"))

        self.client.send(
            node_id,
            request,
            now_ms,
            callback=on_response,
            timeout_ms=unsent.deadline_ms - now_ms,
            highest_version=unsent.highest_version,
        )


def _parts_with(defects: tuple[str, ...]) -> NetworkParts:
    if not defects:
        return NETWORK_PARTS
    from broker_client.core.consumer.consumer_parts import CONSUMER_PARTS  # an Admin needs none of it

    return parts_with(CONSUMER_PARTS, defects)
