"""Each partition over the time of a run: leader, ISR size, high watermark, acknowledgements and faults.

Built from history, verdict and journal into a few hundred points per partition, for runs of any size: a
report draws them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Outcome
from broker_scenarios.journal_view import IsrChange, JournalView, Mark, PartitionEvents, Truncation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_scenarios.findings import RecordResult
    from broker_scenarios.verdict import RunVerdict

__all__ = ["LeaderBand", "MarkGroup", "PartitionTimeline", "RunTimeline", "build_timeline", "is_internal"]

BINS: Final = 160
WATERMARK_POINTS_MAX: Final = 320
MARKS_MAX: Final = 60


@dataclass(slots=True, kw_only=True)
class LeaderBand:
    """One leader's time; `broker` is -1 while there is none."""

    start_us: int
    end_us: int
    broker: int
    leader_epoch: int
    unclean: bool = False


@dataclass(slots=True, kw_only=True)
class MarkGroup:
    """Marks with one label, shown as one: the first is drawn, the time of the last and the count are written."""

    number: int
    mark: Mark
    count: int
    last_us: int


@dataclass(slots=True, kw_only=True)
class PartitionTimeline:
    """The drawing of one partition. Steps are (time in microseconds, value from then on)."""

    topic: str
    partition: int
    leaders: list[LeaderBand]
    isr_sizes: list[tuple[int, int]]
    watermarks: list[tuple[int, int]]
    acked: list[int]
    """Acknowledgements in each of BINS equal parts of the run, of records that are still there."""
    lost: list[int]
    """Acknowledgements in each bin, of records that were lost."""
    not_acked: list[int]
    """Sends in each bin that ended as failed or unknown."""
    truncations: list[Truncation]
    isr_changes: list[IsrChange] = field(default_factory=list)
    """The changes of the ISR during the run."""
    eventful: bool = False


@dataclass(slots=True, kw_only=True)
class RunTimeline:
    """All partitions on one axis of time."""

    start_us: int
    end_us: int
    replication_factor: int
    partitions: list[PartitionTimeline] = field(default_factory=list)
    marks: list[MarkGroup] = field(default_factory=list)
    marks_left_out: int = 0


def build_timeline(verdict: RunVerdict, journal: JournalView | None) -> RunTimeline:
    """Fold a judged run for drawing."""
    view = journal or JournalView()
    start_us, end_us = _span(verdict, view)
    timeline = RunTimeline(start_us=start_us, end_us=end_us, replication_factor=verdict.promises.replication_factor)
    completed: dict[tuple[str, int], list[RecordResult]] = {}
    for record in verdict.records:
        if record.complete_us >= 0:
            completed.setdefault((record.topic, record.partition), []).append(record)
    names = sorted({**verdict.partitions, **view.partitions}, key=lambda name: (is_internal(name[0]), name))
    for topic, partition in names:
        if partition < 0:
            continue
        events = view.of_partition(topic, partition)
        mine = completed.get((topic, partition), [])
        acked = [record for record in mine if record.outcome is Outcome.ACKED]
        lost = _bins((record for record in acked if record.lost), start_us, end_us)
        leaders = _leaders(events, start_us, end_us)
        timeline.partitions.append(
            PartitionTimeline(
                topic=topic,
                partition=partition,
                leaders=leaders,
                isr_sizes=_isr_sizes(events, start_us, timeline.replication_factor),
                watermarks=_watermarks(events, start_us),
                acked=_bins((record for record in acked if not record.lost), start_us, end_us),
                lost=lost,
                not_acked=_bins((record for record in mine if record.outcome is not Outcome.ACKED), start_us, end_us),
                truncations=events.truncations,
                isr_changes=[change for change in events.isr_changes if change.time_us > start_us],
                eventful=any(lost) or _has_other_leaders(leaders) or bool(events.truncations),
            )
        )
    groups = _grouped(view.marks, start_us)
    timeline.marks, timeline.marks_left_out = groups[:MARKS_MAX], max(len(groups) - MARKS_MAX, 0)
    return timeline


def is_internal(topic: str) -> bool:
    """Return True for a topic of the brokers, such as `__consumer_offsets`: its partitions come last."""
    return topic.startswith("__")


def _span(verdict: RunVerdict, view: JournalView) -> tuple[int, int]:
    ends = [verdict.end_us, *(mark.time_us for mark in view.marks)]
    for events in view.partitions.values():
        ends += [election.time_us for election in events.elections]
        ends += [truncation.time_us for truncation in events.truncations]
    return verdict.start_us, max(*ends, verdict.start_us + 1)


def _bins(records: Iterable[RecordResult], start_us: int, end_us: int) -> list[int]:
    counts = [0] * BINS
    span = max(end_us - start_us, 1)
    for record in records:
        counts[min(max((record.complete_us - start_us) * BINS // span, 0), BINS - 1)] += record.count
    return counts


def _leaders(events: PartitionEvents, start_us: int, end_us: int) -> list[LeaderBand]:
    changes = [(each.time_us, each.leader, each.leader_epoch, each.unclean) for each in events.elections]
    if not changes or changes[0][0] > start_us:
        first = _first_leader(events)
        epoch = changes[0][2] - 1 if changes else 0
        changes.insert(0, (start_us, first, epoch, False))
    ends = [*(time_us for time_us, *_ in changes[1:]), end_us]
    bands = [
        LeaderBand(start_us=max(time_us, start_us), end_us=end, broker=leader, leader_epoch=epoch, unclean=unclean)
        for (time_us, leader, epoch, unclean), end in zip(changes, ends, strict=True)
    ]
    return [band for band in bands if band.end_us > band.start_us]


def _has_other_leaders(leaders: Sequence[LeaderBand]) -> bool:
    """Return True if the leader changes; the time before the topic exists, whose epoch is -1, is no change."""
    return sum(band.leader_epoch >= 0 for band in leaders) > 1


def _first_leader(events: PartitionEvents) -> int:
    if events.elections:
        return events.elections[0].previous_leader
    return events.watermarks[0].leader if events.watermarks else -1


def _isr_sizes(events: PartitionEvents, start_us: int, replication_factor: int) -> list[tuple[int, int]]:
    size = replication_factor
    steps: list[tuple[int, int]] = []
    for change in events.isr_changes:
        if change.time_us <= start_us:
            size = len(change.isr)
        else:
            steps.append((change.time_us, len(change.isr)))
    return [(start_us, size), *steps]


def _watermarks(events: PartitionEvents, start_us: int) -> list[tuple[int, int]]:
    points = [(each.time_us, each.high_watermark) for each in events.watermarks if each.time_us >= start_us]
    if len(points) <= WATERMARK_POINTS_MAX:
        return points
    step = len(points) / WATERMARK_POINTS_MAX
    return [*(points[int(at * step)] for at in range(WATERMARK_POINTS_MAX)), points[-1]]


def _grouped(marks: list[Mark], start_us: int) -> list[MarkGroup]:
    groups: dict[tuple[str, str, int], MarkGroup] = {}
    for mark in marks:
        if mark.time_us <= start_us:
            continue
        # Each crash is listed; a rule that fires on a thousand requests is listed once, with its count.
        key = (mark.sort, mark.label, -1 if mark.sort in {"rule", "release"} else mark.time_us)
        group = groups.get(key)
        if group is None:
            number = len(groups) + 1
            groups[key] = MarkGroup(number=number, mark=mark, count=1, last_us=mark.time_us)
        else:
            group.count += 1
            group.last_us = mark.time_us
    return list(groups.values())
