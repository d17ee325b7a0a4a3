"""The events of a cluster's journal that explain a verdict, by topic-partition.

Elections, ISR changes and truncations explain why a record is gone; crashes and rules are the marks of a timeline; the
errors of Produce responses explain why records failed. Other events are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from broker_sim.control import events as journal_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.control.events import Event

__all__ = ["Election", "IsrChange", "JournalView", "LostTail", "Mark", "PartitionEvents", "Truncation", "Watermark"]

NEVER_US: Final = 2**63 - 1
"""A time that does not come, in microseconds."""
_BROKER_CHANGES: Final[dict[type[Event], str]] = {
    journal_events.BrokerKilled: "killed",
    journal_events.PowerLost: "lost its power",
    journal_events.BrokerPaused: "paused",
    journal_events.BrokerResumed: "resumed",
    journal_events.BrokerStopped: "stopped",
    journal_events.BrokerStarted: "started",
    journal_events.BrokerFenced: "fenced",
    journal_events.BrokerUnfenced: "unfenced",
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
    """A change of a broker's state, or a rule that fired: a mark of the timeline."""

    time_us: int
    sort: str
    label: str
    broker: int = -1
    topic: str | None = None
    partition: int = -1


@dataclass(slots=True, kw_only=True)
class PartitionEvents:
    """The events of one topic-partition, in order of time."""

    elections: list[Election] = field(default_factory=list)
    isr_changes: list[IsrChange] = field(default_factory=list)
    watermarks: list[Watermark] = field(default_factory=list)
    truncations: list[Truncation] = field(default_factory=list)
    lost_tails: list[LostTail] = field(default_factory=list)
    refusals: dict[int, int] = field(default_factory=dict)
    """The number of batches that a broker refused, by error code."""


@dataclass(slots=True, kw_only=True)
class JournalView:
    """The explaining events of a whole run."""

    partitions: dict[tuple[str, int], PartitionEvents] = field(default_factory=dict)
    deletions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """The deletions of each topic: when, and when it was created again (a time without end if never)."""
    marks: list[Mark] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """Read the journal's events, which are in order of time."""
        view = cls()
        for event in events:
            if type(event) in _VIEWED:
                view._add_event(event)
        return view

    def of_partition(self, topic: str, partition: int) -> PartitionEvents:
        """Return the events of one partition; an empty set if the journal has none."""
        return self.partitions.get((topic, partition)) or PartitionEvents()

    def _add_event(self, event: Event) -> None:
        change = _BROKER_CHANGES.get(type(event))
        if change is not None:
            label = f"broker {event.broker_id} {change}"
            self.marks.append(Mark(time_us=event.time_us, sort=change, label=label, broker=event.broker_id))
        elif isinstance(event, journal_events.RuleFired):
            self.marks.append(_fired(event))
        elif isinstance(event, journal_events.RuleReleased):
            label = f"rule {event.rule}: releases {event.released}"
            self.marks.append(Mark(time_us=event.time_us, sort="release", label=label, broker=event.broker_id))
        elif isinstance(event, journal_events.TopicDeleted):
            self.deletions.setdefault(event.topic, []).append((event.time_us, NEVER_US))
        elif isinstance(event, journal_events.TopicCreated):
            deletions = self.deletions.get(event.topic)
            if deletions:
                deletions[-1] = (deletions[-1][0], event.time_us)
        elif isinstance(event, _PARTITION_EVENTS):
            _add_to_partition(self.partitions.setdefault((event.topic, event.partition), PartitionEvents()), event)


def _fired(event: journal_events.RuleFired) -> Mark:
    return Mark(
        time_us=event.time_us,
        sort="rule",
        label=f"rule {event.rule}: {event.act}",
        broker=event.broker_id,
        topic=event.topic,
        partition=-1 if event.partition is None else event.partition,
    )


_PARTITION_EVENTS: Final = (
    journal_events.LeaderElected,
    journal_events.IsrChanged,
    journal_events.HighWatermarkAdvanced,
    journal_events.LogTruncated,
    journal_events.TailLost,
    journal_events.ProduceCompleted,
)


_VIEWED: Final = frozenset(
    {
        *_BROKER_CHANGES,
        *_PARTITION_EVENTS,
        journal_events.RuleFired,
        journal_events.RuleReleased,
        journal_events.TopicDeleted,
        journal_events.TopicCreated,
    }
)
"""The kinds of events that a view has; most events of a run are requests."""


def _add_to_partition(events: PartitionEvents, event: Event) -> None:
    time_us, broker = event.time_us, event.broker_id
    if isinstance(event, journal_events.HighWatermarkAdvanced):
        events.watermarks.append(Watermark(time_us=time_us, leader=broker, high_watermark=event.high_watermark))
    elif isinstance(event, journal_events.ProduceCompleted):
        if event.error_code:
            events.refusals[event.error_code] = events.refusals.get(event.error_code, 0) + 1
    elif isinstance(event, journal_events.LeaderElected):
        events.elections.append(
            Election(
                time_us=time_us,
                leader=broker,
                previous_leader=event.previous_leader,
                leader_epoch=event.leader_epoch,
                isr=event.isr,
                unclean=event.unclean,
            )
        )
        events.isr_changes.append(IsrChange(time_us=time_us, isr=event.isr))
    elif isinstance(event, journal_events.IsrChanged):
        if not events.elections and not events.isr_changes:
            events.isr_changes.append(IsrChange(time_us=-1, isr=event.previous_isr))
        events.isr_changes.append(IsrChange(time_us=time_us, isr=event.isr))
    elif isinstance(event, journal_events.LogTruncated):
        events.truncations.append(
            Truncation(
                time_us=time_us,
                broker=broker,
                leader=event.leader_id,
                leader_epoch=event.leader_epoch,
                from_offset=event.from_offset,
                to_offset=event.to_offset,
            )
        )
    elif isinstance(event, journal_events.TailLost):
        events.lost_tails.append(
            LostTail(time_us=time_us, broker=broker, from_offset=event.from_offset, to_offset=event.to_offset)
        )
