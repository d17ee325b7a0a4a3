"""The few events of a cluster's journal that explain a verdict, read from its flat rows, by topic-partition.

Elections, ISR changes and truncations say why a record is gone; crashes and rules are the marks of a timeline.
Rows are those of broker_sim.control.journal, whose lists are written `1,2,3`. Unknown kinds are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias

__all__ = ["Election", "IsrChange", "JournalView", "LostTail", "Mark", "PartitionEvents", "Truncation", "Watermark"]

JournalRow: TypeAlias = Mapping[str, object]

_CRASH_KINDS: Final = {
    "BrokerKilled": "killed",
    "PowerLost": "lost its power",
    "BrokerStopped": "stopped",
    "BrokerStarted": "started",
    "BrokerFenced": "fenced",
    "BrokerUnfenced": "unfenced",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """A new leader, as the controller committed it."""

    time_us: int
    leader: int
    previous_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    unclean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChange:
    """Another set of in-sync replicas."""

    time_us: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """A leader's high watermark at a time."""

    time_us: int
    leader: int
    high_watermark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """A replica cut [from_offset, to_offset) off to follow `leader` at `leader_epoch`."""

    time_us: int
    broker: int
    leader: int
    leader_epoch: int
    from_offset: int
    to_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTail:
    """A broker came back from a loss of power without [from_offset, to_offset)."""

    time_us: int
    broker: int
    from_offset: int
    to_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened to a broker, or a rule that struck: a mark of the timeline."""

    time_us: int
    sort: str
    label: str
    broker: int = -1
    topic: str | None = None
    partition: int = -1


@dataclass(slots=True, kw_only=True)
class PartitionEvents:
    """What the journal says of one topic-partition, in order of time."""

    elections: list[Election] = field(default_factory=list)
    isr_changes: list[IsrChange] = field(default_factory=list)
    watermarks: list[Watermark] = field(default_factory=list)
    truncations: list[Truncation] = field(default_factory=list)
    lost_tails: list[LostTail] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class JournalView:
    """The whole run's explaining events."""

    partitions: dict[tuple[str, int], PartitionEvents] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[JournalRow]) -> Self:
        """Read the journal's rows, which are in order of time."""
        view = cls()
        for row in rows:
            view._take(row)
        return view

    def of_partition(self, topic: str, partition: int) -> PartitionEvents:
        """The events of one partition; none if the journal never names it."""
        return self.partitions.get((topic, partition)) or PartitionEvents()

    def _take(self, row: JournalRow) -> None:
        kind = str(row.get("kind"))
        time_us, broker = _integer(row, "time_us"), _integer(row, "broker_id")
        if kind in _CRASH_KINDS:
            word = _CRASH_KINDS[kind]
            self.marks.append(Mark(time_us=time_us, sort=word, label=f"broker {broker} {word}", broker=broker))
        elif kind in {"RuleFired", "RuleReleased"}:
            self.marks.append(_rule_mark(kind, time_us, broker, row))
        elif kind in _PARTITION_KINDS:
            key = (str(row["topic"]), _integer(row, "partition"))
            events = self.partitions.setdefault(key, PartitionEvents())
            _PARTITION_KINDS[kind](events, time_us, broker, row)


def _rule_mark(kind: str, time_us: int, broker: int, row: JournalRow) -> Mark:
    topic = row.get("topic")
    fired = kind == "RuleFired"
    what = f"{row.get('act')}" if fired else f"releases {row.get('released')}"
    return Mark(
        time_us=time_us,
        sort="rule" if fired else "release",
        label=f"rule {row.get('rule')}: {what}",
        broker=broker,
        topic=None if topic is None else str(topic),
        partition=_integer(row, "partition"),
    )


def _elected(events: PartitionEvents, time_us: int, broker: int, row: JournalRow) -> None:
    isr = _integers(row, "isr")
    events.elections.append(
        Election(
            time_us=time_us,
            leader=broker,
            previous_leader=_integer(row, "previous_leader"),
            leader_epoch=_integer(row, "leader_epoch"),
            isr=isr,
            unclean=bool(row.get("unclean")),
        )
    )
    events.isr_changes.append(IsrChange(time_us=time_us, isr=isr))


def _isr_changed(events: PartitionEvents, time_us: int, _broker: int, row: JournalRow) -> None:
    if not events.elections and not events.isr_changes and row.get("previous_isr") is not None:
        events.isr_changes.append(IsrChange(time_us=-1, isr=_integers(row, "previous_isr")))
    events.isr_changes.append(IsrChange(time_us=time_us, isr=_integers(row, "isr")))


def _watermark(events: PartitionEvents, time_us: int, broker: int, row: JournalRow) -> None:
    high_watermark = _integer(row, "high_watermark")
    events.watermarks.append(Watermark(time_us=time_us, leader=broker, high_watermark=high_watermark))


def _truncated(events: PartitionEvents, time_us: int, broker: int, row: JournalRow) -> None:
    events.truncations.append(
        Truncation(
            time_us=time_us,
            broker=broker,
            leader=_integer(row, "leader_id"),
            leader_epoch=_integer(row, "leader_epoch"),
            from_offset=_integer(row, "from_offset"),
            to_offset=_integer(row, "to_offset"),
        )
    )


def _tail_lost(events: PartitionEvents, time_us: int, broker: int, row: JournalRow) -> None:
    events.lost_tails.append(
        LostTail(
            time_us=time_us,
            broker=broker,
            from_offset=_integer(row, "from_offset"),
            to_offset=_integer(row, "to_offset"),
        )
    )


_PARTITION_KINDS: Final = {
    "LeaderElected": _elected,
    "IsrChanged": _isr_changed,
    "HighWatermarkAdvanced": _watermark,
    "LogTruncated": _truncated,
    "TailLost": _tail_lost,
}


def _integer(row: JournalRow, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else -1


def _integers(row: JournalRow, name: str) -> tuple[int, ...]:
    value = row.get(name)
    if isinstance(value, str):
        return tuple(int(part) for part in value.split(",") if part)
    if isinstance(value, (list, tuple)):
        return tuple(int(part) for part in value)
    return ()
