"""The batches of a partition in the order of their creation, one lane per batch: the waits between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.producer.trace import BatchEventKind
from broker_scenarios.tracing.batch_trace import ACCUMULATOR, stages_of
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from sim_runtime.spelling import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_scenarios.tracing.batch_lives import BatchLife
    from broker_scenarios.tracing.broker_side import BrokerSide

__all__ = ["trace_partition"]

MOMENTS_MAX: Final = 200
_TROUBLE: Final = (BatchEventKind.RETRIED, BatchEventKind.SPLIT, BatchEventKind.EXPIRED, BatchEventKind.FAILED)


def trace_partition(lives: Sequence[BatchLife], brokers: BrokerSide, limit: int) -> Timeline:
    """The batches, at most `limit`: those around the one that took longest, when there are more."""
    shown = _around_the_slowest(lives, limit)
    start_us = shown[0].start_us
    end_us = max(life.last.time_us for life in shown)
    records = sum(life.records for life in shown)
    producers = dict.fromkeys(life.producer for life in shown)
    of_all = "" if len(shown) == len(lives) else f" of {len(lives):,}, those around the slowest"
    timeline = Timeline(
        name=shown[0].key,
        title=f"{shown[0].key}: {len(shown):,} batches{of_all}, with {records:,} records of {', '.join(producers)}",
        source=f"{_count(lives, 'acknowledged')}, {sum(life.attempts > 1 for life in lives):,} sent more than once",
        took_us=end_us - start_us,
        unended="no end",
        rows_are_lanes=True,
    )
    lanes = {life.name: f"batch {life.name if len(producers) > 1 else life.number}" for life in shown}
    for life in shown:
        lane = lanes[life.name]
        timeline.stages += [
            Stage(lane=lane, name=stage.name, start_us=stage.start_us, duration_us=stage.duration_us)
            for stage in stages_of(life, start_us)
            if stage.lane in (ACCUMULATOR, "NetworkClient")
        ]
        timeline.lane_notes[lane] = _note(life)
    changes = brokers.changes((shown[0].topic, shown[0].partition), start_us, end_us)
    moments = [
        *_troubles(shown, lanes, start_us),
        *(Moment(at_us=at_us - start_us, text=text, own=False) for at_us, text in changes),
    ]
    moments.sort(key=lambda moment: moment.at_us)
    timeline.moments = moments[:MOMENTS_MAX]
    timeline.left_out = len(moments) - len(timeline.moments)
    return timeline


def _around_the_slowest(lives: Sequence[BatchLife], limit: int) -> Sequence[BatchLife]:
    if len(lives) <= limit:
        return lives
    slowest = max(range(len(lives)), key=lambda place: lives[place].took_us)
    first = min(max(0, slowest - limit // 2), len(lives) - limit)
    return lives[first : first + limit]


def _count(lives: Sequence[BatchLife], outcome: str) -> str:
    return f"{sum(life.outcome == outcome for life in lives):,} of {len(lives):,} {outcome}"


def _note(life: BatchLife) -> str:
    if life.outcome != "acknowledged":
        return life.outcome
    took = f"{life.took_us / 1000:,.3f} ms"
    if life.base_offset < 0:
        return took
    return f"{took}, {numbers('offset', life.base_offset, life.records)}"


def _troubles(lives: Sequence[BatchLife], lanes: Mapping[str, str], start_us: int) -> Iterator[Moment]:
    for life in lives:
        for event in life.events:
            if event.kind in _TROUBLE:
                text = f"{lanes[life.name]} {event.kind.value}: {event.error}"
                yield Moment(at_us=event.time_us - start_us, text=text)
