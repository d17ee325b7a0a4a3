"""The history of a run: one event per invoke, ok, fail and info, in Jepsen's terms.

A send is one `invoke` and, as soon as the client knows, one completion under the same (process, index): `ok`
(acknowledged; offset -1 under acks=0), `fail` (certainly not stored) or `info` (outcome unknown). A process is one
client lifetime. Times are microseconds of the clock of the journal, so that the two can be joined. Log records are the
truth beside the history: the records that the brokers' logs held.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_scenarios.operations import Value

__all__ = [
    "NO_OFFSET",
    "NO_PARTITION",
    "EventType",
    "HistoryEvent",
    "HistoryRecorder",
    "LogRecord",
    "TruncatedRecord",
    "join_logs",
]

NO_OFFSET: Final = -1
NO_PARTITION: Final = -1


class EventType(StrEnum):
    """The four kinds of event of a Jepsen history."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(slots=True)
class HistoryEvent:
    """One event. `index` numbers the sends of a process; a completion has the index of its invoke."""

    run_id: str
    process: int
    producer_id: int
    index: int
    type: str
    time_us: int
    topic: str
    partition: int
    key: bytes | None
    value_id: int
    size_bytes: int
    offset: int
    timestamp_ms: int
    error_code: int
    error: str | None


class LogRecord(NamedTuple):
    """A record in the log of a partition's last leader, or one that a replica has cut off (`truncated`)."""

    topic: str
    partition: int
    offset: int
    value_id: Value
    truncated: bool = False


class TruncatedRecord(NamedTuple):
    """A record that a replica cut off; `leader_epoch` is the epoch of the leader that it then followed."""

    topic: str
    partition: int
    offset: int
    value_id: Value
    broker: int
    leader_epoch: int
    time_us: int


class HistoryRecorder:
    """Collects the events of one or more processes. Several threads may record; one drains."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._events: deque[HistoryEvent] = deque()

    def __len__(self) -> int:
        return len(self._events)

    def record(
        self,
        event: EventType,
        *,
        process: int,
        producer_id: int,
        index: int,
        time_us: int,
        topic: str,
        value_id: int,
        size_bytes: int,
        key: bytes | None = None,
        partition: int = NO_PARTITION,
        offset: int = NO_OFFSET,
        timestamp_ms: int = -1,
        error_code: int = 0,
        error: str | None = None,
    ) -> None:
        """Add one event to the history; deque.append is atomic, so no lock is needed."""
        self._events.append(
            HistoryEvent(
                self._run_id, process, producer_id, index, event.value, time_us, topic, partition, key,
                value_id, size_bytes, offset, timestamp_ms, error_code, error,
            )
        )  # fmt: skip

    def drain(self, limit: int | None = None) -> list[HistoryEvent]:
        """Remove and return the oldest events, at most `limit`."""
        count = len(self._events) if limit is None else min(limit, len(self._events))
        return [self._events.popleft() for _ in range(count)]


def join_logs(stored: Iterable[LogRecord], truncated: Iterable[TruncatedRecord] = ()) -> list[LogRecord]:
    """Return stored and truncated records in one list: all that the checks need of the logs."""
    cut = (LogRecord(each.topic, each.partition, each.offset, each.value_id, truncated=True) for each in truncated)
    return list(chain(stored, cut))
