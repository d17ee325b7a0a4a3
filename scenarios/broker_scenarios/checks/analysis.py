"""The history of one topic-partition joined with its logs, folded once for all checks.

Sends are numbered as their process sent them; offsets as the log of the last leader holds them. A value is
unique for the run, but an application may send it twice: then the value has several sends. In Jepsen's terms
this is the analysis that the `-cases` functions share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from broker_scenarios.errors import HistoryError
from broker_scenarios.findings import Finding, FindingKind, Outcome
from broker_scenarios.history import NO_OFFSET, NO_PARTITION, EventType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_scenarios.history import HistoryEvent, LogRecord

__all__ = ["Analysis", "Send", "TopicPartition", "by_partition"]

_OUTCOMES: Final = {
    EventType.OK.value: Outcome.ACKED,
    EventType.FAIL.value: Outcome.FAILED,
    EventType.INFO.value: Outcome.UNKNOWN,
}
_RANKS: Final = {name: rank for rank, name in enumerate(_OUTCOMES)}
TopicPartition: TypeAlias = tuple[str, int]


@dataclass(slots=True, kw_only=True)
class Send:
    """One send of one value: its invoke and its completions."""

    process: int
    producer_id: int
    index: int
    value_id: int
    invoke_us: int
    outcome: Outcome = Outcome.UNKNOWN
    completions: list[EventType] = field(default_factory=list)
    complete_us: int = -1
    ack_offset: int = NO_OFFSET
    error_code: int = 0
    error: str | None = None

    @property
    def acked(self) -> bool:
        """True if the client reported the record as stored."""
        return self.outcome is Outcome.ACKED


@dataclass(slots=True, kw_only=True)
class Analysis:
    """The input of every check."""

    topic: str
    partition: int
    sends: list[Send]
    """By process, then in the order in which the process sent."""
    sends_of: dict[int, list[Send]]
    stored: dict[int, list[int]]
    """Value to the ascending offsets at which the last leader's log holds it."""
    truncated: dict[int, list[int]]
    """Value to the offsets at which some replica held it before it truncated."""

    @classmethod
    def of(cls, topic: str, partition: int, history: Iterable[HistoryEvent], logs: Iterable[LogRecord]) -> Self:
        """Fold the events and the log records of one partition.

        Raises:
            HistoryError: the history is malformed: an event of an unknown type, a completion without invoke.
        """
        sends = _fold(topic, history)
        sends_of: dict[int, list[Send]] = {}
        for send in sends:
            sends_of.setdefault(send.value_id, []).append(send)
        stored: dict[int, list[int]] = {}
        truncated: dict[int, list[int]] = {}
        for record in logs:
            (truncated if record.truncated else stored).setdefault(record.value_id, []).append(record.offset)
        for offsets in stored.values():
            offsets.sort()
        return cls(topic=topic, partition=partition, sends=sends, sends_of=sends_of, stored=stored, truncated=truncated)

    def finding(self, kind: FindingKind, send: Send, detail: str, *, offset: int = -1, other: int = -1) -> Finding:
        """A finding about one send, with all that identifies it."""
        return Finding(
            kind=kind,
            topic=self.topic,
            partition=self.partition,
            value_id=send.value_id,
            process=send.process,
            producer_id=send.producer_id,
            index=send.index,
            ack_offset=send.ack_offset,
            complete_us=send.complete_us,
            offset=offset,
            other_value_id=other,
            detail=detail,
        )


def by_partition(
    history: Iterable[HistoryEvent], logs: Iterable[LogRecord]
) -> dict[TopicPartition, tuple[list[HistoryEvent], list[LogRecord]]]:
    """Group the events by the partition of their send, beside the log records of that partition, sorted by name.

    An invoke does not know its partition when the client chooses it, and a failed send may never learn it. The
    partition of the send's own completion takes precedence, then the lowest partition whose log holds (or held) the
    value; a send without either keeps -1 and is checked with the others of that kind.
    """
    events = list(history)
    own: dict[tuple[int, int], int] = {}
    for event in events:
        send = event.process, event.index
        own[send] = max(own.get(send, NO_PARTITION), event.partition)
    groups: dict[TopicPartition, tuple[list[HistoryEvent], list[LogRecord]]] = {}
    lowest: dict[tuple[str, int], int] = {}
    for record in logs:
        groups.setdefault((record.topic, record.partition), ([], []))[1].append(record)
        value = record.topic, record.value_id
        lowest[value] = min(lowest.get(value, record.partition), record.partition)
    for event in events:
        partition = own[event.process, event.index]
        if partition < 0:
            partition = lowest.get((event.topic, event.value_id), NO_PARTITION)
        groups.setdefault((event.topic, partition), ([], []))[0].append(event)
    return dict(sorted(groups.items()))


def _fold(topic: str, history: Iterable[HistoryEvent]) -> list[Send]:
    sends: dict[tuple[int, int], Send] = {}
    completions: list[HistoryEvent] = []
    for event in history:
        key = event.process, event.index
        if event.type == EventType.INVOKE:
            if key in sends:
                raise HistoryError(f"{topic}: process {event.process} invokes send {event.index} twice")
            sends[key] = Send(
                process=event.process,
                producer_id=event.producer_id,
                index=event.index,
                value_id=event.value_id,
                invoke_us=event.time_us,
            )
        elif event.type in _OUTCOMES:
            completions.append(event)
        else:
            raise HistoryError(
                f"{topic}: process {event.process}, send {event.index}: event type {event.type!r} is unknown"
            )
    # By time, and an ok before others of the same time: the verdict must not depend on the order of the events.
    completions.sort(key=lambda each: (each.time_us, _RANKS[each.type], each.process, each.index))
    for event in completions:
        send = sends.get((event.process, event.index))
        if send is None:
            raise HistoryError(f"{topic}: process {event.process} completes send {event.index} without an invoke")
        send.completions.append(EventType(event.type))
        if len(send.completions) == 1:
            send.outcome = _OUTCOMES[event.type]
            send.complete_us, send.ack_offset = event.time_us, event.offset
            send.error_code, send.error = event.error_code, event.error
    return [sends[key] for key in sorted(sends)]
