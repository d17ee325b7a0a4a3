"""The steps of a client's script: data that `step_forms` reads and `broker_scenarios.playing` plays."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.faults.gates import EventGate

__all__ = [
    "Abort",
    "Act",
    "Assign",
    "Begin",
    "Close",
    "Commit",
    "CommitOffsets",
    "Copy",
    "Crash",
    "Exit",
    "Flush",
    "Init",
    "Poll",
    "Repeat",
    "Resend",
    "Restart",
    "Script",
    "Seek",
    "Send",
    "SendOffsets",
    "Step",
    "Subscribe",
    "Unsubscribe",
    "Wait",
]

_DEFAULT_SIZE: Final = 100
_STEP_TIMEOUT_MS: Final = 30_000
_POLL_TIMEOUT_MS: Final = 10_000

_RULE_OF_AN_ACT: Final = re.compile(r".+ acts \(\d+\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Give the producer `count` records; their outcomes come later. Without a topic: the first one of the file."""

    topic: str | None = None
    partition: int | None = None
    each_partition: bool = False
    """Whether `count` records go to each partition of the topic, in turn."""
    key: str | None = None
    count: int = 1
    size_bytes: int = _DEFAULT_SIZE
    timestamp_ms: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    every_ms: float = 0
    wait: bool = False
    """Whether the next record is sent when the outcome of the one before is known."""
    on_delivery: str | None = None
    """What the application calls in the delivery callback of each record: `flush` or `close`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """Wait until every accepted record has an outcome."""

    timeout_ms: float = _STEP_TIMEOUT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Close the client in order, within the time-out; 0 gives up what is not sent."""

    timeout_ms: float = _STEP_TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Exit:
    """End the program without flush or close: what is buffered never leaves, and no outcome is ever reported."""


@dataclass(frozen=True, slots=True)
class Crash:
    """Kill the process: connections are reset, outcomes that are not known stay unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Start a new process of this client. With `outbox` it first sends again what the one before saw no ack for."""

    outbox: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    """Producer configurations that differ from now on."""


@dataclass(frozen=True, slots=True)
class Resend:
    """The application sends records again: those that `failed`, whose outcome is `unknown`, or both (`unconfirmed`)."""

    which: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait for all that is given: a time, a rule that has fired, acknowledged records, an event of the journal, the
    end of all faults.
    """

    ms: float = 0
    rule: str | None = None
    fired: int = 1
    acked: int | None = None
    event: EventGate | None = None
    client: str | None = None
    """The client whose script must have ended."""
    healed: bool = False
    timeout_ms: float = 120_000


@dataclass(frozen=True, slots=True)
class Init:
    """InitTransactions of the producer."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin a transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Commit the transaction; with `or_abort` an abort follows a commit that fails."""

    or_abort: bool = False


@dataclass(frozen=True, slots=True)
class Abort:
    """Abort the transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOffsets:
    """Send the consumer's positions to the transaction."""

    by_group_id: bool = False
    """Whether the group id alone is given, without the member and its generation (as before KIP-447)."""


@dataclass(frozen=True, slots=True)
class Assign:
    """Read these partitions; an empty list stands for all partitions of the topic."""

    partitions: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Have the group assign partitions of these topics."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Give up all partitions."""


@dataclass(frozen=True, slots=True)
class Seek:
    """Go on at these offsets: partition (`orders-0`) -> a number, `beginning`, `end` or `committed`."""

    positions: Mapping[str, int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """Poll until `records` records have come, the `end` at the time of the call is reached, or the time is over."""

    records: int | None = None
    to_end: bool = False
    timeout_ms: float = _POLL_TIMEOUT_MS
    work_ms: float = 0
    """How long the application works on what a poll has brought, before the next poll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOffsets:
    """Commit the consumer's positions, and wait for the response unless it is asynchronous."""

    asynchronous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Consume, transform and produce in transactions, until `records` records are copied.

    An error or a planned abort aborts the transaction; then the consumer goes back to the committed offsets, unless
    `rewind` is false.
    """

    to: str
    records: int
    at_most: int = 10
    """The most records of one transaction."""
    work_ms: float = 0
    """The time between the records of a transaction and its end."""
    abort: tuple[int, ...] = ()
    """The transactions, counted from 1, that the application aborts itself."""
    rewind: bool = True
    by_group_id: bool = False
    offsets: str = "transaction"
    """Where the consumer's offsets are committed: in the `transaction`, or by the `consumer` after it."""
    timeout_ms: float = 120_000


@dataclass(frozen=True, slots=True)
class Act:
    """Do to the cluster what a rule's `act` does, now."""

    act: Any

    @staticmethod
    def rule_name(client_id: str, number: int) -> str:
        """Return the name of the rule that the act is in the run; `number` counts the acts of all scripts from 1."""
        return f"{client_id} acts ({number})"

    @staticmethod
    def is_rule_name(name: str) -> bool:
        """True if an act may have the name."""
        return _RULE_OF_AN_ACT.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Play steps several times, `every_ms` apart at least."""

    times: int
    steps: Script
    every_ms: float = 0


Step: TypeAlias = (
    Send | Flush | Close | Exit | Crash | Restart | Resend | Wait | Init | Begin | Commit | Abort | SendOffsets
    | Assign | Subscribe | Unsubscribe | Seek | Poll | CommitOffsets | Copy | Act | Repeat
)  # fmt: skip
Script: TypeAlias = tuple[Step, ...]
