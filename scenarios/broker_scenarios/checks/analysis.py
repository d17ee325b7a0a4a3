"""The history of one topic-partition joined with its logs, folded once for all checks.

Sends are numbered as their process sent them; offsets as the log of the last leader holds them. A value is
unique for the run, but an application may send it twice: then the value has several sends. In Jepsen's terms
this is the analysis that the `-cases` functions share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa

from broker_scenarios.errors import HistoryError
from broker_scenarios.findings import Finding, FindingKind, Outcome
from broker_scenarios.history import NO_OFFSET, EventType

__all__ = ["Analysis", "Send", "assign_partitions"]

_COMPLETED = {EventType.OK.value: 0, EventType.FAIL.value: 1, EventType.INFO.value: 2}
_COLUMNS = ("process", "producer_id", "index", "type", "time_us", "value_id", "offset", "error_code", "error")


@dataclass(slots=True, kw_only=True)
class Send:
    """One send of one value: its invoke, and what the client was told, if anything."""

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
        """Whether the client was told that the record is stored."""
        return self.outcome is Outcome.ACKED


@dataclass(slots=True, kw_only=True)
class Analysis:
    """What every check looks at."""

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
    def of(cls, topic: str, partition: int, history: pa.Table, logs: pa.Table) -> Self:
        """Fold the events and the log rows of one partition; raises HistoryError on a malformed history."""
        sends = _fold(topic, history)
        sends_of: dict[int, list[Send]] = {}
        for send in sends:
            sends_of.setdefault(send.value_id, []).append(send)
        stored: dict[int, list[int]] = {}
        truncated: dict[int, list[int]] = {}
        columns = (logs.column(name).to_pylist() for name in ("value_id", "offset", "truncated"))
        for value_id, offset, cut in zip(*columns, strict=True):
            (truncated if cut else stored).setdefault(value_id, []).append(offset)
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


def assign_partitions(history: pa.Table, logs: pa.Table) -> pa.Table:
    """Give every event the partition of its send, so that the history can be grouped by it.

    An invoke does not know its partition when the client chooses it, and a failed send may never learn it.
    The send's own completion goes first; then the lowest partition whose log holds (or held) the value; a
    send that neither knows keeps -1 and is checked among its like.
    """
    own = history.group_by(["process", "index"]).aggregate([("partition", "max")])
    own = own.rename_columns(["process", "index", "own"])
    held = logs.group_by(["topic", "value_id"]).aggregate([("partition", "min")])
    held = held.rename_columns(["topic", "value_id", "held"])
    rows = history.append_column("row", pa.array(range(history.num_rows), pa.int64()))
    rows = rows.join(own, ["process", "index"], join_type="left outer")
    rows = rows.join(held, ["topic", "value_id"], join_type="left outer").sort_by("row")
    resolved = [
        known if known >= 0 else (-1 if seen is None else seen)
        for known, seen in zip(rows.column("own").to_pylist(), rows.column("held").to_pylist(), strict=True)
    ]
    position = history.column_names.index("partition")
    return history.set_column(position, history.schema.field("partition"), pa.array(resolved, pa.int32()))


def _fold(topic: str, history: pa.Table) -> list[Send]:
    sends: dict[tuple[int, int], Send] = {}
    completions: list[tuple[int, int, str, int, int, int, str | None]] = []
    columns = (history.column(name).to_pylist() for name in _COLUMNS)
    for process, producer_id, index, sort, time_us, value_id, offset, error_code, error in zip(*columns, strict=True):
        if sort == EventType.INVOKE.value:
            if (process, index) in sends:
                raise HistoryError(f"{topic}: process {process} invokes send {index} twice")
            sends[process, index] = Send(
                process=process, producer_id=producer_id, index=index, value_id=value_id, invoke_us=time_us
            )
        elif sort in _COMPLETED:
            completions.append((process, index, sort, time_us, offset, error_code, error))
        else:
            raise HistoryError(f"{topic}: process {process}, send {index}: event type {sort!r} is unknown")
    # By time, and an ok before its like: the history's rows come in any order, the verdict must not.
    completions.sort(key=lambda row: (row[3], _COMPLETED[row[2]], row[0], row[1]))
    for process, index, sort, time_us, offset, error_code, error in completions:
        send = sends.get((process, index))
        if send is None:
            raise HistoryError(f"{topic}: process {process} completes send {index}, which it never invoked")
        event, outcome = _OUTCOMES[sort]
        send.completions.append(event)
        if len(send.completions) == 1:
            send.outcome = outcome
            send.complete_us, send.ack_offset = time_us, offset
            send.error_code, send.error = error_code, error
    return [sends[key] for key in sorted(sends)]


_OUTCOMES = {
    EventType.OK.value: (EventType.OK, Outcome.ACKED),
    EventType.FAIL.value: (EventType.FAIL, Outcome.FAILED),
    EventType.INFO.value: (EventType.INFO, Outcome.UNKNOWN),
}
