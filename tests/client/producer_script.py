"""A script as data: a cluster, its responses, and the program of a producer.

The same script is run with our producer on virtual time, with ours on TCP, and with the Java producer on TCP. Requests
without a scripted response succeed: records are appended, metadata is correct.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Await",
    "Close",
    "Disconnect",
    "Ended",
    "Finalize",
    "Flush",
    "MoveCoordinator",
    "MoveLeader",
    "Pause",
    "Response",
    "Script",
    "Send",
    "SendOffsets",
    "Start",
    "Step",
    "StopListening",
    "Transact",
]


@dataclass(slots=True, kw_only=True, frozen=True)
class Response:
    """The response to the `nth` request of an API (and `times - 1` that follow), counted over the cluster from 1.

    `error` is for `partitions` ("topic-0"), all if none is named; with `appends` the batches are written in spite of
    it. `after`: held until that many requests of an API have come, as ("Produce", 5). `lost`: neither this request nor
    any other on its connection gets a response. `disconnects`: the connection is closed instead. `leader`: the broker
    and the epoch in the response with the error (KIP-951). `producer`: the id and epoch that are assigned.
    """

    api: str = "Produce"
    nth: int = 1
    times: int = 1
    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[str, ...] = ()
    appends: bool = False
    after: tuple[str, int] | None = None
    delay_ms: int = 0
    throttle_ms: int = 0
    lost: bool = False
    disconnects: bool = False
    leader: tuple[int, int] | None = None
    producer: tuple[int, int] | None = None
    record_errors: Mapping[int, str] = field(default_factory=dict)
    log_start_offset: int = -1


@dataclass(slots=True, kw_only=True, frozen=True)
class Start:
    """Make the producer, and wait until it has requested metadata (and its id) on its own."""


@dataclass(slots=True, frozen=True)
class Send:
    """Send `count` records; each value is the text, its number and as many dots as fill it up to `size` bytes.

    `waits`: until metadata and memory allowed the last of them to be appended, before the next step.
    """

    value: str | None
    topic: str = "t"
    partition: int | None = 0
    key: str | None = None
    timestamp_ms: int | None = None
    count: int = 1
    size: int = 0
    waits: bool = True


@dataclass(slots=True, frozen=True)
class Flush:
    """Flush; `waits`: until that has ended, before the next step."""

    waits: bool = True


@dataclass(slots=True, frozen=True)
class Close:
    """Close, with a time-out or without."""

    timeout_ms: int | None = None
    waits: bool = True


@dataclass(slots=True, frozen=True)
class Await:
    """Wait until the cluster has seen that many requests of an API."""

    api: str
    count: int


@dataclass(slots=True, frozen=True)
class Ended:
    """Wait until that many records have ended, well or not; all that were sent when none is given."""

    count: int | None = None


@dataclass(slots=True, frozen=True)
class Pause:
    """Let time pass."""

    ms: int


@dataclass(slots=True, frozen=True)
class MoveLeader:
    """Another broker leads a partition from now on, under the next epoch; None: no leader."""

    partition: str
    broker: int | None


@dataclass(slots=True, frozen=True)
class Disconnect:
    """A broker closes all its connections."""

    broker: int = 1


@dataclass(slots=True, frozen=True)
class StopListening:
    """A broker closes its connections and takes no new ones; `ms` later it does again."""

    broker: int
    ms: int


@dataclass(slots=True, frozen=True)
class Transact:
    """Call "init", "begin", "commit" or "abort"; its result is part of the outcome. `waits`: before the next step."""

    call: str
    waits: bool = True


@dataclass(slots=True, frozen=True)
class SendOffsets:
    """Send offsets ("topic-0") to the transaction, as a member of a group or for the group alone."""

    offsets: Mapping[str, int]
    group: str = "g"
    generation: int = -1
    member: str = ""


@dataclass(slots=True, frozen=True)
class MoveCoordinator:
    """Another broker coordinates transactions from now on, or the groups."""

    broker: int
    kind: str = "transaction"


@dataclass(slots=True, frozen=True)
class Finalize:
    """A feature is finalized at a level, under the next epoch; new connections receive it."""

    feature: str
    level: int


Step: TypeAlias = (
    Start
    | Send
    | Flush
    | Close
    | Await
    | Ended
    | Pause
    | MoveLeader
    | Disconnect
    | StopListening
    | Transact
    | SendOffsets
    | MoveCoordinator
    | Finalize
)


@dataclass(slots=True, kw_only=True, frozen=True)
class Script:
    """One claim: with these responses, this program sends the same requests as Java's producer.

    `topics`: the leader of each partition. `features`: the finalized levels. Broker 1 is the coordinator of all groups
    and transactions. The run ends when all records have ended and the producer is closed.
    """

    name: str
    program: tuple[Step, ...]
    responses: tuple[Response, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    brokers: int = 1
    topics: Mapping[str, tuple[int | None, ...]] = field(default_factory=lambda: {"t": (1,)})
    release: str = "4.3.1"
    max_batch_bytes: int | None = None
    leader_hints: bool = False
    features: Mapping[str, int] = field(default_factory=dict)
