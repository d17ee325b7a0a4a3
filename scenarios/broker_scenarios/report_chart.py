"""One partition's timeline as SVG: leader band, acknowledgements, high watermark, ISR size, marks of faults.

Colours are CSS classes of the page, so that the light and the dark form share one drawing; every shape has a
title, which a browser shows on hover, so that no fact is shown by colour alone.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.timeline import LeaderBand, MarkGroup, PartitionTimeline, RunTimeline

__all__ = ["partition_chart"]

_LEFT: Final = 64
_RIGHT: Final = 64
_WIDTH: Final = 1000
_PLOT: Final = _WIDTH - _LEFT - _RIGHT
_TAGS_TOP: Final = 4
_BAND_TOP: Final = 24
_BAND_HEIGHT: Final = 16
_BARS_TOP: Final = 50
_BARS_HEIGHT: Final = 64
_ISR_TOP: Final = 128
_ISR_HEIGHT: Final = 22
_AXIS: Final = 158
_HEIGHT: Final = 178
_BURST_FACTOR: Final = 2.5
_BROKER_COLOURS: Final = 6
_TAG_GAP: Final = 20
_LABEL_ROOM: Final = 74
_TICK_STEPS: Final = (1, 2, 5)
_TICKS_MAX: Final = 10


def partition_chart(timeline: RunTimeline, partition: PartitionTimeline) -> str:
    """The SVG element of one partition."""
    scale = _Scale(timeline.start_us, timeline.end_us)
    name = escape(f"{partition.topic}-{partition.partition}")
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="timeline of {name}">',
        *_axis(scale),
        *_bars(scale, partition),
        *_watermark(scale, partition),
        *_isr(scale, partition, timeline.replication_factor),
        *_band(scale, partition.leaders),
        *_truncations(scale, partition),
        *_marks(scale, timeline.marks),
        "</svg>",
    ]
    return "\n".join(parts)


class _Scale:
    """Converts times to x coordinates and to texts."""

    def __init__(self, start_us: int, end_us: int) -> None:
        self.start_us = start_us
        self.span_us = max(end_us - start_us, 1)

    def x(self, time_us: int) -> float:
        share = (time_us - self.start_us) / self.span_us
        return round(_LEFT + min(max(share, 0), 1) * _PLOT, 1)

    def clock(self, time_us: int) -> str:
        return f"{(time_us - self.start_us) / 1e6:.3f} s"

    def ticks(self) -> Iterator[tuple[float, str]]:
        step = _nice_step(self.span_us)
        for time_us in range(0, self.span_us + 1, step):
            decimals = 0 if step >= 1_000_000 else 1 if step >= 100_000 else 3
            yield self.x(self.start_us + time_us), f"{time_us / 1e6:.{decimals}f} s"


def _nice_step(span_us: int) -> int:
    unit = 1
    while True:
        for factor in _TICK_STEPS:
            if span_us / (unit * factor) <= _TICKS_MAX:
                return unit * factor
        unit *= 10


def _axis(scale: _Scale) -> Iterator[str]:
    for x, label in scale.ticks():
        yield f'<line class="grid" x1="{x}" y1="{_BARS_TOP}" x2="{x}" y2="{_AXIS}"/>'
        yield f'<text class="tick" x="{x}" y="{_AXIS + 14}" text-anchor="middle">{label}</text>'
    yield f'<line class="base" x1="{_LEFT}" y1="{_AXIS}" x2="{_WIDTH - _RIGHT}" y2="{_AXIS}"/>'
    for top, label in ((_BAND_TOP + 12, "leader"), (_BARS_TOP + 10, "acks"), (_ISR_TOP + 14, "ISR")):
        yield f'<text class="lane" x="{_LEFT - 10}" y="{top}" text-anchor="end">{label}</text>'


def _band(scale: _Scale, leaders: Sequence[LeaderBand]) -> Iterator[str]:
    for band in leaders:
        left, right = scale.x(band.start_us), scale.x(band.end_us)
        style = f"broker b{(band.broker - 1) % _BROKER_COLOURS}" if band.broker >= 0 else "broker none"
        who = f"broker {band.broker}" if band.broker >= 0 else "no leader"
        how = ", elected uncleanly" if band.unclean else ""
        title = (
            f"{who}, leader epoch {band.leader_epoch}{how}: {scale.clock(band.start_us)} to {scale.clock(band.end_us)}"
        )
        width = max(round(right - left, 1), 1)
        yield (
            f'<rect class="{style}" x="{left}" y="{_BAND_TOP}" width="{width}" height="{_BAND_HEIGHT}" rx="3">'
            f"<title>{escape(title)}</title></rect>"
        )
        if width > _LABEL_ROOM:
            label = f"{who} · epoch {band.leader_epoch}" if width > 1.5 * _LABEL_ROOM else who
            yield f'<text class="in-band" x="{left + 8}" y="{_BAND_TOP + 12}">{label}</text>'


def _bars(scale: _Scale, partition: PartitionTimeline) -> Iterator[str]:
    highest = _bar_scale([sum(stack) for stack in _stacks(partition)])
    if not highest:
        return
    bins = len(partition.acked)
    step = _PLOT / bins
    for position, (acked, lost, not_acked) in enumerate(_stacks(partition)):
        if not acked + lost + not_acked:
            continue
        left = round(_LEFT + position * step, 1)
        begin = scale.start_us + position * scale.span_us // bins
        title = f"{scale.clock(begin)}: {acked + lost} acknowledged, {lost} of them lost; {not_acked} failed or unknown"
        yield f"<g><title>{title}</title>"
        bottom = float(_BARS_TOP + _BARS_HEIGHT)
        for count, style in ((acked, "acked"), (lost, "lost"), (not_acked, "not-acked")):
            if count:
                height = min(max(round(count * _BARS_HEIGHT / highest, 1), 1), round(bottom - _BARS_TOP, 1))
                bottom = round(bottom - height, 1)
                width = round(step - 0.8, 1)
                yield f'<rect class="{style}" x="{left}" y="{bottom}" width="{width}" height="{height}"/>'
        yield "</g>"


def _bar_scale(totals: Sequence[int]) -> float:
    """The count at full height: a burst after a crash may reach beyond it, so that the usual rate stays visible."""
    busy = sorted(total for total in totals if total)
    if not busy:
        return 0
    return min(busy[-1], _BURST_FACTOR * busy[len(busy) // 2])


def _stacks(partition: PartitionTimeline) -> Iterator[tuple[int, int, int]]:
    return zip(partition.acked, partition.lost, partition.not_acked, strict=True)


def _watermark(scale: _Scale, partition: PartitionTimeline) -> Iterator[str]:
    if not partition.watermarks:
        return
    highest = max(value for _, value in partition.watermarks) or 1
    points: list[str] = []
    before = float(_BARS_TOP + _BARS_HEIGHT)
    for time_us, value in partition.watermarks:
        x, y = scale.x(time_us), round(_BARS_TOP + _BARS_HEIGHT * (1 - value / highest), 1)
        points += [f"{x},{before}", f"{x},{y}"]
        before = y
    points.append(f"{_WIDTH - _RIGHT},{before}")
    title = f"high watermark, up to {highest}"
    yield f'<polyline class="watermark" points="{" ".join(points)}"><title>{title}</title></polyline>'
    last = partition.watermarks[-1][1]
    yield f'<text class="value" x="{_WIDTH - _RIGHT + 6}" y="{before + 4}">hw {last:,}</text>'


def _isr(scale: _Scale, partition: PartitionTimeline, full: int) -> Iterator[str]:
    highest = max(full, *(size for _, size in partition.isr_sizes), 1)
    bottom = _ISR_TOP + _ISR_HEIGHT
    ends = [*(time_us for time_us, _ in partition.isr_sizes[1:]), scale.start_us + scale.span_us]
    for (time_us, size), end in zip(partition.isr_sizes, ends, strict=True):
        left, right = scale.x(time_us), scale.x(end)
        height = round(_ISR_HEIGHT * size / highest, 1)
        style = "isr short" if size < full else "isr"
        title = f"{size} of {full} replicas in sync: {scale.clock(time_us)} to {scale.clock(end)}"
        top, width = round(bottom - height, 1), max(round(right - left, 1), 0.5)
        yield (
            f'<rect class="{style}" x="{left}" y="{top}" width="{width}" height="{height}">'
            f"<title>{title}</title></rect>"
        )
    last = partition.isr_sizes[-1][1]
    yield f'<text class="value" x="{_WIDTH - _RIGHT + 6}" y="{_ISR_TOP + 14}">{last} of {full}</text>'


def _truncations(scale: _Scale, partition: PartitionTimeline) -> Iterator[str]:
    for cut in partition.truncations:
        x, y = scale.x(cut.time_us), _BAND_TOP + _BAND_HEIGHT
        title = (
            f"{scale.clock(cut.time_us)}: broker {cut.broker} truncated offsets {cut.from_offset} to "
            f"{cut.to_offset - 1} to follow broker {cut.leader} at leader epoch {cut.leader_epoch}"
        )
        yield (f'<path class="cut" d="M{x - 5} {y + 1} h10 l-5 8 z"><title>{escape(title)}</title></path>')


def _marks(scale: _Scale, marks: Sequence[MarkGroup]) -> Iterator[str]:
    cluster: list[MarkGroup] = []
    for mark in marks:
        x = scale.x(mark.mark.time_us)
        style = "mark kill" if mark.mark.sort == "killed" else "mark"
        yield f'<line class="{style}" x1="{x}" y1="{_TAGS_TOP + 14}" x2="{x}" y2="{_AXIS}"/>'
        if cluster and x - scale.x(cluster[0].mark.time_us) > _TAG_GAP:
            yield _tag(scale, cluster)
            cluster = []
        cluster.append(mark)
    if cluster:
        yield _tag(scale, cluster)


def _tag(scale: _Scale, cluster: Sequence[MarkGroup]) -> str:
    first, last = cluster[0], cluster[-1]
    label = str(first.number) if len(cluster) == 1 else f"{first.number}-{last.number}"
    title = "\n".join(f"{each.number}. {scale.clock(each.mark.time_us)}: {each.mark.label}" for each in cluster)
    x, width = scale.x(first.mark.time_us), 8 + 6.2 * len(label)
    return (
        f'<g class="tag"><title>{escape(title)}</title>'
        f'<rect x="{round(x - width / 2, 1)}" y="{_TAGS_TOP}" width="{round(width, 1)}" height="14" rx="7"/>'
        f'<text x="{x}" y="{_TAGS_TOP + 10.5}" text-anchor="middle">{label}</text></g>'
    )
