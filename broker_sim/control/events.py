"""The events of a cluster, one slotted class per kind, under Kafka's names where Kafka has them.

Traffic events come with requests and batches; cluster events with crashes, elections and truncations, a few per
run. `time_us` is the reactor's time; `broker_id` is the node of the event, -1 for none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.message import Message

NO_BROKER = -1
BYTES_FIELDS: Final = frozenset({"batches", "frame"})
"""The fields with bytes of logs and requests, which rows, files, digests and comparisons of events leave out."""
UNDIGESTED_FIELDS: Final = frozenset({"decisions"})
"""The draws behind an event. A rule with the drawn numbers in place of its draws has the same events, so the digest of
a run leaves them out."""


class RemovedBatch(Protocol):
    """A record batch that a log has lost: its bytes and where it was."""

    data: bytes
    base_offset: int
    last_offset: int
    leader_epoch: int


class Detail(IntEnum):
    """The detail of a journal."""

    CLUSTER = 0
    """Elections, ISR changes, truncations, crashes, rules, links."""
    FULL = 1
    """The traffic too: connections, requests, batches, responses, high watermarks."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class Event:
    """The base of all events; `kind` is the name of the class."""

    detail: ClassVar[Detail] = Detail.CLUSTER
    time_us: int
    broker_id: int

    @property
    def kind(self) -> str:
        """The name of the event's class."""
        return type(self).__name__

    # Written once: generated methods of every class would take half of the time of this module's import.
    def __repr__(self) -> str:
        values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{self.kind}({values})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [each.name for each in fields(self) if each.compare]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TrafficEvent(Event):
    """An event that comes with a request or a batch: kept with `Detail.FULL` alone."""

    detail: ClassVar[Detail] = Detail.FULL


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ConnectionOpened(TrafficEvent):
    """A listener has accepted a client's connection."""

    connection_id: str
    listener: str
    client_host: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ConnectionClosed(TrafficEvent):
    """A client's connection is gone; `reason` names the side that closed it and the cause."""

    connection_id: str
    reason: str
    unreadable: bool = False
    """The broker has closed it, because it could not read the bytes of the client."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class AuthenticationSucceeded(TrafficEvent):
    """A client has authenticated itself by SASL, for the first time or again."""

    connection_id: str
    listener: str
    mechanism: str
    principal: str
    lifetime_ms: int = -1
    """The time after which it must authenticate itself again; -1 for no limit."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class AuthenticationFailed(TrafficEvent):
    """A client has failed to authenticate itself by SASL: its connection is closed."""

    connection_id: str
    listener: str
    mechanism: str
    """Empty when the client has chosen none."""
    reason: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ThrottleEnded(TrafficEvent):
    """A broker reads a connection again; `early` requests had arrived 1 ms or more before its throttle time ended."""

    connection_id: str
    early: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class RequestReceived(TrafficEvent):
    """A complete request has arrived; between brokers `connection_id` is the name of the link."""

    api: str
    api_version: int
    request_id: int
    connection_id: str
    client_id: str | None
    size: int = 0
    replica_id: int = -1
    correlation_id: int = -1
    """The correlation id that the client chose; -1 between brokers."""
    frame: bytes = field(default=b"", repr=False, compare=False)
    """The bytes of a client's request; empty when the journal has no room for them any more."""

    @property
    def body(self) -> Message | None:
        """The decoded request; None without `frame`, and for bytes that are no request of this version."""
        from protocol_specs.errors import ProtocolError
        from protocol_specs.framing import decode_request_header
        from protocol_specs.registry import request_type

        if not self.frame:
            return None
        try:
            header, position = decode_request_header(self.frame)
            request, _ = request_type(header.request_api_key).decode_from(self.api_version, self.frame, position)
        except ProtocolError:
            return None
        return request


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ResponseSent(TrafficEvent):
    """A response is written. The times are those of RequestMetrics, in microseconds."""

    api: str
    request_id: int
    connection_id: str
    size: int = 0
    queue_us: int = 0
    local_us: int = 0
    remote_us: int = 0
    throttle_us: int = 0
    response_queue_us: int = 0
    send_us: int = 0
    total_us: int = 0


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BatchAppended(TrafficEvent):
    """A leader has appended a batch to its log."""

    topic: str
    partition: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    records: int
    size: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    request_id: int = -1


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BatchDeduplicated(TrafficEvent):
    """A leader has recognised a batch that it already holds; the offsets are those of the first append."""

    topic: str
    partition: int
    base_offset: int
    last_offset: int
    size: int
    request_id: int = -1


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ProduceCompleted(TrafficEvent):
    """A partition of a Produce request is complete, with the state of its leader and ISR at that time."""

    topic: str
    partition: int
    error_code: int
    base_offset: int
    required_offset: int
    high_watermark: int
    leader_epoch: int
    isr: tuple[int, ...]
    acks: int
    request_id: int = -1


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class HighWatermarkAdvanced(TrafficEvent):
    """A leader's high watermark has moved, and with it the end of the log for read_committed consumers."""

    topic: str
    partition: int
    high_watermark: int
    leader_epoch: int
    last_stable_offset: int = -1
    """Below the high watermark: the first offset of the transaction that holds it back."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TelemetryReceived(TrafficEvent):
    """A client has pushed its metrics to a broker with a receiver; `metrics` as they came (KIP-714)."""

    client_id: str | None
    client_instance_id: str
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TopicCreated(Event):
    """A topic is committed in the metadata."""

    topic: str
    topic_id: bytes
    partitions: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TopicDeleted(Event):
    """A topic has left the metadata."""

    topic: str
    topic_id: bytes


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class MetadataCommitted(TrafficEvent):
    """A batch of the metadata log is committed; `records` counts each type: `TopicRecord 1, PartitionRecord 3`."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    records: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class LeaderElected(Event):
    """The controller has committed a new leader (`broker_id`); `unclean` when it was not in the ISR."""

    topic: str
    partition: int
    previous_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    unclean: bool


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class IsrChanged(Event):
    """The controller has committed another ISR; `broker_id` is the leader."""

    topic: str
    partition: int
    isr: tuple[int, ...]
    previous_isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class LogTruncated(Event):
    """A replica has removed [`from_offset`, `to_offset`) to follow `leader_id` at `leader_epoch`.

    `batches` are the removed batches by reference; the first may begin below `from_offset`.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    leader_epoch: int
    leader_id: int
    records: int
    high_watermark: int
    reason: str
    batches: Sequence[RemovedBatch] = field(default=(), repr=False)


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerStarted(Event):
    """A broker runs; it is still fenced."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerStopped(Event):
    """A broker has shut down in order, after it had moved its leaderships."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerKilled(Event):
    """A broker was killed: connections reset, timers gone, logs kept."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerPaused(Event):
    """The process of a broker stands still, as after SIGSTOP."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerResumed(Event):
    """The process of a paused broker goes on."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class PowerLost(Event):
    """The machine of a broker has lost its power: unflushed data may be lost."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TailLost(Event):
    """A broker that had lost its power does not find [`from_offset`, `to_offset`) of a log, which was never flushed.

    `batches` are the lost batches by reference; the first may begin below `from_offset`.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    batches: Sequence[RemovedBatch] = field(default=(), repr=False)


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class LogDirFailed(Event):
    """A log directory of a broker is offline, and the replicas in it (`topic-partition`) with it."""

    log_dir: str
    partitions: tuple[str, ...]


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerRegistered(Event):
    """The controller has given a broker a new epoch."""

    broker_epoch: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerFenced(Event):
    """The controller has fenced a broker: it leads no partition and is in no ISR, except as the last member."""

    broker_epoch: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class BrokerUnfenced(Event):
    """The controller has unfenced a broker, which may serve."""

    broker_epoch: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ControllerElected(Event):
    """A node is the active controller now: with ZooKeeper a broker, else a voter of the quorum."""

    controller_epoch: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ControllerKilled(Event):
    """A controller was killed; its log and its votes are kept."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ControllerStarted(Event):
    """A controller has started again, on the log that it had."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class CoordinatorLoaded(Event):
    """A broker coordinates the keys of a partition of an internal topic: it has replayed the partition's records."""

    topic: str
    partition: int
    records: int
    leader_epoch: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class CoordinatorUnloaded(Event):
    """A broker does not coordinate the keys of a partition of an internal topic any more."""

    topic: str
    partition: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class GroupStateChanged(Event):
    """A group has another state; `generation` is its generation or epoch, `group_type` is that of ListGroups."""

    group_id: str
    group_type: str
    state: str
    previous: str
    generation: int
    members: int
    reason: str = ""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class GroupMemberJoined(Event):
    """A group has a new member; a static one has an instance id."""

    group_id: str
    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None = None


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class GroupMemberRemoved(Event):
    """A group has lost a member; `reason`: it left, its session or rebalance time-out ended, ..."""

    group_id: str
    member_id: str
    reason: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class GroupMemberAssigned(Event):
    """A member has got an assignment: `orders-0, orders-3`, or an opaque size where the broker cannot read it."""

    group_id: str
    member_id: str
    generation: int
    assignment: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class GroupRequestRefused(TrafficEvent):
    """A member's request is refused: it is fenced, unknown, or of another generation."""

    group_id: str
    member_id: str
    api: str
    error: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class OffsetCommitted(TrafficEvent):
    """A group has committed the offset of a partition: the record is replicated."""

    group_id: str
    member_id: str
    generation: int
    topic: str
    partition: int
    offset: int


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class OffsetRemoved(Event):
    """The committed offset of a partition is gone; `reason`: expired, deleted, or its topic or group is deleted."""

    group_id: str
    topic: str
    partition: int
    reason: str


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ShareRecordsChanged(TrafficEvent):
    """Records of a share group have another state (ACQUIRED, AVAILABLE, ACKNOWLEDGED, ARCHIVED) on their leader."""

    group_id: str
    member_id: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    reason: str = ""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TransactionStateChanged(TrafficEvent):
    """A transactional id has another state, or its transaction other partitions: the record is replicated.

    `partitions` are those of the transaction: `orders-0, orders-3`. `reason` is the cause of its end: EndTxn, a fence,
    a time-out.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    previous: str
    partitions: str
    reason: str = ""
    client_id: str = ""
    """The client id of the InitProducerId that is the reason."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TransactionMarkerWritten(TrafficEvent):
    """The leader of a partition has written the marker that ends a producer's transaction there."""

    producer_id: int
    producer_epoch: int
    topic: str
    partition: int
    committed: bool
    coordinator_epoch: int
    error: str
    client_id: str = ""
    """The sender: `broker-2` for a transaction coordinator, else the client id of an administrator (KIP-664)."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class TransactionRequestRefused(Event):
    """A producer's request is refused by the transaction coordinator: it is fenced, or too early."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    api: str
    error: str
    client_id: str = ""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class ZooKeeperSessionExpired(Event):
    """A broker's session at ZooKeeper has ended, and its registration is gone."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class LinkChanged(Event):
    """A link between two nodes was held, released, cut, restored, slowed or shaped; `broker_id` is its source."""

    target: int
    state: str
    delay_ms: float


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class RuleFired(Event):
    """A fault rule has fired."""

    rule: str
    act: str
    phase: str
    api: str
    topic: str | None = None
    partition: int | None = None
    request_id: int = -1
    decisions: str = ""
    """The draws of the rule since it fired last: `when.delay_ms 120.5, act.delay_ms@1 7.25`."""


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class RuleReleased(Event):
    """The requests that a fault rule held go on."""

    rule: str
    released: int = 0
