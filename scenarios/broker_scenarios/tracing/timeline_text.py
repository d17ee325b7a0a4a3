"""A timeline for a terminal: one bar per stage or one row per lane, then the events line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.tracing.timeline import Stage, Timeline

__all__ = ["milliseconds", "timeline_lines"]

BAR_WIDTH: Final = 48
_NAME_WIDTH_MIN: Final = 16
_SHADES: Final = {"filling": "░", "ready": "▒", "in flight": "█", "back-off": "┄"} | {
    "Empty": "·",
    "PreparingRebalance": "▒",
    "CompletingRebalance": "░",
    "Assigning": "▒",
    "Reconciling": "░",
    "member": "━",
    "PrepareCommit": "▒",
    "PrepareAbort": "▒",
    "CompleteCommit": "░",
    "CompleteAbort": "┄",
    "producer": "━",
    "without marker": "▒",
    "LSO held back": "┈",
}


def timeline_lines(timeline: Timeline) -> Iterator[str]:
    """The whole timeline."""
    yield timeline.title
    yield timeline.source
    yield ""
    yield from _lanes(timeline) if timeline.rows_are_lanes else _stages(timeline)
    yield ""
    for moment in timeline.moments:
        yield f"  +{milliseconds(moment.at_us)}  {moment.text if moment.own else f'(meanwhile) {moment.text}'}"
    if timeline.left_out:
        yield f"  {timeline.left_out:,} more things happened meanwhile"


def milliseconds(duration_us: int) -> str:
    """A time as text."""
    return f"{duration_us / 1000:,.3f} ms"


def _stages(timeline: Timeline) -> Iterator[str]:
    """One line per stage: its lane if it differs from the line before, its name, its time and its bar."""
    whole_us = max(1, timeline.end_us)
    rows = [
        (stage.lane, stage.name, milliseconds(stage.duration_us), _bar(stage, whole_us)) for stage in timeline.stages
    ]
    if timeline.took_us is not None:
        rows.append(("", "total", milliseconds(timeline.took_us), ""))
    lane_width = max((len(lane) + 2 for lane, *_ in rows if lane), default=0)
    name_width = max([_NAME_WIDTH_MIN, *(len(name) + 2 for _, name, *_ in rows)])
    time_width = max((len(time) for _, _, time, _ in rows), default=0)
    before = ""
    for lane, name, time, bar in rows:
        shown = "" if lane == before else lane
        before = lane
        yield f"  {shown:<{lane_width}}{name:<{name_width}}{time:>{time_width}}  {bar}".rstrip()


def _lanes(timeline: Timeline) -> Iterator[str]:
    """One line per lane, with a shade per stage."""
    whole_us = max(1, timeline.end_us)
    lanes = timeline.lanes
    width = max(map(len, lanes), default=0)
    for lane, stages in lanes.items():
        bar = _shaded(stages, whole_us)
        yield f"  {lane:<{width}}  {bar:<{BAR_WIDTH}}  {timeline.lane_notes.get(lane, '')}".rstrip()
    legend = [f"{_shade(name)} {name}" for name in dict.fromkeys(stage.name for stage in timeline.stages)]
    yield f"  {'':<{width}}  {'   '.join(legend)}"


def _shaded(stages: Iterable[Stage], whole_us: int) -> str:
    cells = [" "] * BAR_WIDTH
    for stage in stages:
        start, length = _place(stage, whole_us)
        cells[start : start + max(1, length)] = _shade(stage.name) * max(1, length)
    return "".join(cells)


def _shade(name: str) -> str:
    return _SHADES.get(name, "█")


def _bar(stage: Stage, whole_us: int) -> str:
    start, length = _place(stage, whole_us)
    return f"{' ' * start}{'█' * length or '▏'}"


def _place(stage: Stage, whole_us: int) -> tuple[int, int]:
    """Return the first cell of a stage and its number of cells: none for a stage without duration."""
    start = min(BAR_WIDTH - 1, stage.start_us * BAR_WIDTH // whole_us)
    length = max(1, round(stage.duration_us * BAR_WIDTH / whole_us)) if stage.duration_us else 0
    return start, min(length, BAR_WIDTH - start)
