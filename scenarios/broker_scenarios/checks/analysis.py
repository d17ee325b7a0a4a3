"""The history of one topic-partition joined with its logs, folded once for all checks.

It comes from the events of a run (`Analysis.of`) or from operations of the neutral form (`histories.neutral_fold`).
Sends are numbered as their process sent them; offsets as the log of the last leader holds them. A value is unique for
the run, but an application may send it twice: then the value has several sends. In Jepsen's terms this is the
analysis that the `-cases` functions share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from broker_scenarios.checks.calls import OUTCOME_OF, Send
from broker_scenarios.checks.observed_log import ObservedLog
from broker_scenarios.errors import HistoryError
from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.history import NO_PARTITION, EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.history import HistoryEvent, LogRecord
    from broker_scenarios.operations import Value

__all__ = ["NO_END_US", "Analysis", "TopicPartition", "by_partition"]

_NEVER_TOO_LATE: Final = 2**63
NO_END_US: Final = 2**63
"""A time after every history, in microseconds."""
_TYPES: Final = {each.value: each for each in EventType}
_RANKS: Final = {name: rank for rank, name in enumerate(OUTCOME_OF)}
TopicPartition: TypeAlias = tuple[str, int]


@dataclass(slots=True, kw_only=True)
class Analysis:
    """The input of every check."""

    topic: str
    partition: int
    key: str = ""
    """The partition as one text: `orders-0`."""
    sends: list[Send] = field(default_factory=list)
    """Each process's in the order in which it sent."""
    sends_of: dict[Value, list[Send]] = field(default_factory=dict)
    stored: dict[Value, list[int]] = field(default_factory=dict)
    """Value to the ascending offsets at which the last leader's log holds it, committed."""
    truncated: dict[Value, list[int]] = field(default_factory=dict)
    """Value to the offsets at which some replica held it before it truncated."""
    uncommitted: dict[Value, list[int]] = field(default_factory=dict)
    """Value to the offsets at which the log holds it in an aborted or open transaction."""
    open_values: dict[Value, list[int]] = field(default_factory=dict)
    """Those of them whose transaction is open."""
    log_known: bool = True
    """False if what the log holds is not known: `stored` and `uncommitted` are empty then."""
    log_start: int = 0
    """The first offset that retention left."""
    polled: dict[Value, list[int]] = field(default_factory=dict)
    """Value to the offsets at which polls of any outcome returned it."""
    readers: dict[Value, Call] = field(default_factory=dict)
    """Value to the first ok poll that returned it."""
    finally_polled: bool = False
    """A final poll covered the partition."""
    final_poll_us: int = NO_END_US
    """When the last final poll was invoked: it may miss what was acknowledged later."""
    overdue_us: int = _NEVER_TOO_LATE
    """Sends invoked up to this time have had their delivery timeout."""
    _observed: ObservedLog | None = None

    @classmethod
    def of(cls, topic: str, partition: int, history: Iterable[HistoryEvent], logs: Iterable[LogRecord]) -> Self:
        """Fold the events and the log records of one partition.

        Raises:
            HistoryError: the history is malformed: an event of an unknown type, a completion without invoke.
        """
        sends = _fold(topic, history)
        sends_of: dict[Value, list[Send]] = {}
        for send in sends:
            sends_of.setdefault(send.value_id, []).append(send)
        stored: dict[Value, list[int]] = {}
        truncated: dict[Value, list[int]] = {}
        for record in logs:
            (truncated if record.truncated else stored).setdefault(record.value_id, []).append(record.offset)
        for offsets in stored.values():
            offsets.sort()
        return cls(topic=topic, partition=partition, sends=sends, sends_of=sends_of, stored=stored, truncated=truncated)

    def __post_init__(self) -> None:
        self.key = self.key or f"{self.topic}-{self.partition}"

    @property
    def observed(self) -> ObservedLog:
        """The log as the clients saw it."""
        if self._observed is None:
            self._observed = ObservedLog(self._observations())
        return self._observed

    def _observations(self) -> Iterator[tuple[int, Value]]:
        for send in self.sends:
            if send.ack_offset >= 0 and send.committed:
                truncated = self.truncated.get(send.value_id)
                if truncated is None or send.ack_offset not in truncated:
                    yield send.ack_offset, send.value_id
        for value, offsets in self.polled.items():
            for offset in offsets:
                yield offset, value

    def add_record(self, value: Value, offset: int, state: str | None = None) -> None:
        """Add a record that the log holds; `state` is `aborted` or `open`, None for a committed one."""
        if state is None:
            self.stored.setdefault(value, []).append(offset)
            return
        self.uncommitted.setdefault(value, []).append(offset)
        if state == "open":
            self.open_values.setdefault(value, []).append(offset)

    def place_of(self, value: Value) -> int | None:
        """Where a value is stored first, else its one place as the clients saw it; None without one or if lost."""
        stored = self.stored.get(value)
        if stored:
            return stored[0]
        place = self.observed.place_of(value)
        return None if self.log_known and place is not None and place >= self.log_start else place

    def finding(self, kind: FindingKind, send: Send, detail: str, *, offset: int = -1, other: Value = -1) -> Finding:
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
            values=(send.value_id,),
            ops=() if send.call is None else (send.call.name_index,),
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
    lowest: dict[tuple[str, Value], int] = {}
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
        elif event.type in OUTCOME_OF:
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
        send.completions = (*send.completions, _TYPES[event.type])
        if len(send.completions) == 1:
            send.outcome = OUTCOME_OF[event.type]
            send.complete_us, send.ack_offset = event.time_us, event.offset
            send.error_code, send.error = event.error_code, event.error
    return [sends[key] for key in sorted(sends)]
