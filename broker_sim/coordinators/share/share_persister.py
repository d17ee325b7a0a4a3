"""Requests to share coordinators, from leaders of share partitions and from group coordinators. Mirrors
PersisterStateManager and DefaultStatePersister (KIP-932).

Operations of one kind, group and coordinator are merged into one request; at most one such request is in flight. A
coordinator that is not known, not there or loading is tried again, with an exponential back-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from twisted.internet.defer import Deferred

from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.links.node_links import LinkFailure
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import delete_share_group_state as delete
from protocol_specs.messages import initialize_share_group_state as initialize
from protocol_specs.messages import read_share_group_state as read
from protocol_specs.messages import read_share_group_state_summary as summary
from protocol_specs.messages import write_share_group_state as write
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.coordinators.coordinators import Coordinators
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_cache import MetadataCache
    from protocol_specs.releases import Release
    from sim_runtime.interfaces import IReactor

__all__ = ["SharePersister"]

ATTEMPTS_MAX: Final = 5
BACKOFF_MS: Final = 1_000
BACKOFF_MAX_MS: Final = 30_000
FIND_COORDINATOR_VERSION: Final = 6
SHARE_KEY_TYPE: Final = 2
_TOPIC: Final = Log.SHARE_GROUP_STATE.value
_RETRIED: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class PersisterHost(Protocol):
    """The parts of its broker that a persister uses."""

    id: int
    links: NodeLinks
    coordinators: Coordinators
    metadata_cache: MetadataCache
    reactor: IReactor
    release: Release


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the five APIs of share coordinators."""

    api_key: ApiKey
    name: str
    request: Callable[..., Any]
    topic: Callable[..., Any]
    result: Callable[..., Any]


_INITIALIZE: Final = _Kind(
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    "initialize state",
    initialize.InitializeShareGroupStateRequest,
    initialize.InitializeStateData,
    initialize.PartitionResult,
)
_READ: Final = _Kind(
    ApiKey.READ_SHARE_GROUP_STATE,
    "read state",
    read.ReadShareGroupStateRequest,
    read.ReadStateData,
    read.PartitionResult,
)
_WRITE: Final = _Kind(
    ApiKey.WRITE_SHARE_GROUP_STATE,
    "write state",
    write.WriteShareGroupStateRequest,
    write.WriteStateData,
    write.PartitionResult,
)
_DELETE: Final = _Kind(
    ApiKey.DELETE_SHARE_GROUP_STATE,
    "delete state",
    delete.DeleteShareGroupStateRequest,
    delete.DeleteStateData,
    delete.PartitionResult,
)
_SUMMARY: Final = _Kind(
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    "read state summary",
    summary.ReadShareGroupStateSummaryRequest,
    summary.ReadStateSummaryData,
    summary.PartitionResult,
)


class _Route(NamedTuple):
    kind: _Kind
    node: int
    group_id: str


class _Operation:
    __slots__ = ("attempts", "data", "deferred", "key", "kind")

    def __init__(self, kind: _Kind, key: SharePartitionKey, data: Any) -> None:
        self.kind = kind
        self.key = key
        self.data = data
        self.attempts = 0
        self.deferred: Deferred[Any] = Deferred()


class SharePersister:
    """Sends the operations of one broker; each Deferred fires with a result of one partition, or of an error."""

    def __init__(self, host: PersisterHost) -> None:
        self._host = host
        self._queues: dict[_Route, list[_Operation]] = {}
        self._in_flight: dict[_Route, None] = {}
        self._calls: dict[IDelayedCall, None] = {}
        self._stopped = False

    def initialize(
        self, key: SharePartitionKey, data: initialize.PartitionData
    ) -> Deferred[initialize.PartitionResult]:
        """Initialize the state of a share partition."""
        return self._run(_INITIALIZE, key, data)

    def read(self, key: SharePartitionKey, data: read.PartitionData) -> Deferred[read.PartitionResult]:
        """Read the state of a share partition."""
        return self._run(_READ, key, data)

    def write(self, key: SharePartitionKey, data: write.PartitionData) -> Deferred[write.PartitionResult]:
        """Write changes of a share partition."""
        return self._run(_WRITE, key, data)

    def delete(self, key: SharePartitionKey, data: delete.PartitionData) -> Deferred[delete.PartitionResult]:
        """Delete the state of a share partition."""
        return self._run(_DELETE, key, data)

    def read_summary(self, key: SharePartitionKey, data: summary.PartitionData) -> Deferred[summary.PartitionResult]:
        """Read the start offset and the number of completed deliveries of a share partition."""
        return self._run(_SUMMARY, key, data)

    def stop(self) -> None:
        """End with the process: no Deferred fires any more."""
        self._stopped = True
        for call in self._calls:
            if call.active():
                call.cancel()
        self._calls.clear()
        self._queues.clear()

    def _run(self, kind: _Kind, key: SharePartitionKey, data: Any) -> Deferred[Any]:
        operation = _Operation(kind, key, data)
        if key.group_id:
            self._route(operation)
        else:
            self._complete(operation, ErrorCode.UNKNOWN_SERVER_ERROR, "groupId cannot be null or empty.")
        return operation.deferred

    def _route(self, operation: _Operation) -> None:
        operation.attempts += 1
        node = self._coordinator_of(operation.key)
        if node is None:
            self._find(operation)
            return
        route = _Route(operation.kind, node, operation.key.group_id)
        queue = self._queues.setdefault(route, [])
        queue.append(operation)
        if len(queue) == 1 and route not in self._in_flight:
            self._later(0, lambda: self._send(route))

    def _coordinator_of(self, key: SharePartitionKey) -> int | None:
        image = self._host.metadata_cache.image
        topic = image.topics.get(_TOPIC)
        if topic is None:
            return None
        partition = partition_for(key.text, self._host.coordinators.partitions.of(_TOPIC))
        if partition >= len(topic.partitions):
            return None
        leader = topic.partitions[partition].leader
        return leader if image.is_active(leader) else None

    def _find(self, operation: _Operation) -> None:
        """Request the coordinator from the own broker, which has the topic created, and try again."""
        request = FindCoordinatorRequest(key_type=SHARE_KEY_TYPE, coordinator_keys=[operation.key.text])
        host = self._host
        sent = host.links.send(host.id, host.id, request, version=FIND_COORDINATOR_VERSION)
        sent.addCallbacks(
            lambda response: self._found(operation, response),
            lambda _: self._retry(operation, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        )

    def _found(self, operation: _Operation, response: Any) -> None:
        error_code = ErrorCode(response.coordinators[0].error_code)
        if error_code and error_code not in _RETRIED:
            self._complete(operation, error_code, f"Error in find coordinator. {default_message(error_code)}")
            return
        self._retry(operation, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _retry(self, operation: _Operation, error_code: ErrorCode) -> None:
        if self._stopped:
            return
        if operation.attempts < ATTEMPTS_MAX:
            delay_ms = min(BACKOFF_MS * 2**operation.attempts, BACKOFF_MAX_MS)
            self._later(delay_ms, lambda: self._route(operation))
            return
        name = operation.kind.name
        self._fail(operation, error_code, f"Exhausted max retries to complete {name} RPC without success.")

    def _fail(self, operation: _Operation, error_code: ErrorCode, reason: str) -> None:
        self._complete(operation, error_code, f"Error in {operation.kind.name} RPC. {reason}")

    def _complete(self, operation: _Operation, error_code: ErrorCode, message: str) -> None:
        operation.deferred.callback(
            operation.kind.result(partition=operation.key.partition, error_code=error_code, error_message=message)
        )

    def _later(self, delay_ms: int, function: Callable[[], None]) -> None:
        def run() -> None:
            del self._calls[call]
            function()

        call = self._host.reactor.callLater(delay_ms / 1000, run)
        self._calls[call] = None

    # Requests.

    def _send(self, route: _Route) -> None:
        operations = self._queues.pop(route, [])
        if not operations:
            return
        topics: dict[bytes, list[Any]] = {}
        for operation in operations:
            topics.setdefault(operation.key.topic_id, []).append(operation.data)
        kind = route.kind
        request = kind.request(
            group_id=route.group_id,
            topics=[kind.topic(topic_id=topic_id, partitions=data) for topic_id, data in topics.items()],
        )
        self._in_flight[route] = None
        host = self._host
        versions = host.release.api_versions.get(kind.api_key)
        version = 0 if versions is None else versions.highest
        sent = host.links.send(host.id, route.node, request, version=version)
        sent.addCallbacks(
            lambda response: self._responded(route, operations, response),
            lambda failure: self._failed(route, operations, failure),
        )

    def _responded(self, route: _Route, operations: list[_Operation], response: Any) -> None:
        results = {
            (topic.topic_id, result.partition): result for topic in response.results for result in topic.partitions
        }
        self._sent(route)
        for operation in operations:
            result = results.get((operation.key.topic_id, operation.key.partition))
            if result is None:
                self._fail(operation, ErrorCode.UNKNOWN_SERVER_ERROR, default_message(ErrorCode.UNKNOWN_SERVER_ERROR))
            elif result.error_code in _RETRIED:
                self._retry(operation, ErrorCode(result.error_code))
            elif result.error_code:
                error_code = ErrorCode(result.error_code)
                self._fail(operation, error_code, result.error_message or default_message(error_code))
            else:
                operation.deferred.callback(result)

    def _failed(self, route: _Route, operations: list[_Operation], failure: Failure) -> None:
        failure.trap(LinkFailure)
        self._sent(route)
        for operation in operations:
            self._retry(operation, ErrorCode.NETWORK_EXCEPTION)

    def _sent(self, route: _Route) -> None:
        self._in_flight.pop(route, None)
        if route in self._queues and not self._stopped:
            self._later(0, lambda: self._send(route))
