"""A timeline as a drawing: its lanes over time, in SVG, within a page or on its own. Every name is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from broker_scenarios.tracing.timeline_text import milliseconds
from broker_sim.html_page import page_style, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from broker_scenarios.tracing.timeline import Stage, Timeline

__all__ = ["STYLE", "chart", "render_svg", "write_svg"]

STYLE: Final = """
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg .soft { fill: var(--soft); } svg .axis { stroke: var(--line); } svg .inside { pointer-events: none; }
svg .title { font-size: 17px; font-weight: 600; }
svg .note { paint-order: stroke; stroke: var(--card); stroke-width: 5px; stroke-linejoin: round; }
svg .on-dark { fill: #fff; } svg .on-light { fill: #17202b; } svg.close .rows text { font-size: 11.5px; }
.stage { rx: 4px; } .s0 { fill: var(--isr); } .s1 { fill: var(--b0); } .s2 { fill: var(--b2); }
.s3 { fill: var(--not-acked); } .s4 { fill: var(--acked); } .s5 { fill: var(--b1); } .s6 { fill: var(--b3); }
.s7 { fill: var(--b5); } .s8 { fill: var(--none); } .own { fill: var(--watermark); } .other { fill: var(--b3); }
"""
_COLOURS: Final = {
    "request queue": 0,
    "handler": 1,
    "purgatory": 2,
    "throttle": 3,
    "response queue": 4,
    "response send": 5,
    "filling": 4,
    "ready": 3,
    "back-off": 6,
    "memory": 0,
    "drained": 7,
    "writing": 7,
    "in flight": 5,
    "no response": 8,
    "Empty": 0,
    "NotReady": 3,
    "PreparingRebalance": 3,
    "CompletingRebalance": 6,
    "Assigning": 3,
    "Reconciling": 6,
    "Stable": 4,
    "Dead": 2,
    "member": 5,
    "acquired": 1,
    "Ongoing": 1,
    "PrepareCommit": 3,
    "PrepareAbort": 6,
    "CompleteCommit": 4,
    "CompleteAbort": 2,
    "producer": 5,
    "in transaction": 1,
    "without marker": 3,
    "LSO held back": 7,
}
_OTHER_COLOUR: Final = 1
_TEXT_ON: Final = {
    1: "on-dark", 2: "on-dark", 3: "on-light", 5: "on-dark", 6: "on-dark", 7: "on-dark", 8: "on-dark",
}  # fmt: skip
"""What can be read on a colour in light and dark surroundings; on the others that is the page's own ink."""
_CHARACTER: Final = 7
_LABEL_MAX: Final = 40
"""A longer name of a lane, or note beside it, is cut: what is drawn needs room, too."""
_LEFT_MIN: Final = 130
_RIGHT: Final = 110
_WIDTH: Final = 1000
_ROW: Final = 30
_CLOSE_ROW: Final = 22
_CLOSE_FROM: Final = 16
"""With so many lanes their rows are closer."""
_TOP: Final = 24
_KEY_ROW: Final = 22
_TITLES: Final = 56
_MARGIN: Final = 16
_STEPS_MAX: Final = 6


def chart(timeline: Timeline) -> str:
    """The drawing for a page that has STYLE."""
    return "".join(_Chart(timeline, top=0).lines())


def render_svg(timeline: Timeline) -> str:
    """The drawing as a file of its own, with its title."""
    drawn = _Chart(timeline, top=_TITLES)
    titles = (
        f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="100%" height="100%" style="fill: var(--card)"/>'
        f'<text class="title" x="0" y="14">{escape(timeline.title)}</text>'
        f'<text class="soft" x="0" y="36">{escape(timeline.source)}</text>'
    )
    return "".join(drawn.lines(titles, style=page_style() + STYLE)) + "\n"


def write_svg(path: Path, timeline: Timeline) -> Path:
    """Write the drawing; returns the path as it can be opened."""
    return write_page(path, render_svg(timeline), "--svg")


class _Chart:
    def __init__(self, timeline: Timeline, *, top: int) -> None:
        self.timeline = timeline
        self.lanes = timeline.lanes
        self.whole_us = max(1, timeline.end_us)
        self.left = max([_LEFT_MIN, *(len(_cut(lane)) * _CHARACTER + 24 for lane in self.lanes)])
        self.right = max([_RIGHT, *(len(_cut(note)) * _CHARACTER + 18 for note in timeline.lane_notes.values())])
        self.close = len(self.lanes) >= _CLOSE_FROM
        self.row, self.gap = (_CLOSE_ROW, 3) if self.close else (_ROW, 4)
        self.key_top = top
        self.top = top + _TOP

    def lines(self, titles: str = "", style: str = "") -> Iterator[str]:
        key = list(self._key())
        rows_top = self.top
        moments_top = rows_top + self.row * len(self.lanes)
        bottom = moments_top + _ROW
        margin = _MARGIN if titles else 0
        place = f"{-margin} {-margin} {_WIDTH + 2 * margin} {bottom + 24 + 2 * margin}"
        close = ' class="close"' if self.close else ""
        named = escape(f"{self.timeline.name}: stages over time")
        yield f'<svg xmlns="http://www.w3.org/2000/svg"{close} viewBox="{place}" role="img" aria-label="{named}">'
        if style:
            yield f"<style>{style}</style>"
        yield titles
        yield from key
        for at_us in range(0, self.whole_us + 1, _step(self.whole_us)):
            x = self.x(at_us)
            yield f'<line class="axis" x1="{x}" x2="{x}" y1="{rows_top - 8}" y2="{bottom}"/>'
            yield f'<text class="soft" x="{x}" y="{bottom + 18}" text-anchor="middle">'
            yield f"{at_us / 1000:,.9g} ms</text>"
        yield '<g class="rows">'
        for row, (lane, stages) in enumerate(self.lanes.items()):
            yield from self._lane(lane, stages, rows_top + self.row * row)
        yield "</g>"
        yield from self._moments(moments_top + _ROW // 2)
        yield "</svg>"

    def _key(self) -> Iterator[str]:
        """Draw the legend of the colours, in as many rows as needed; a lane named by its only stage needs none."""
        x = 0
        names = dict.fromkeys(stage.name for stage in self.timeline.stages if stage.lane)
        for name in names:
            width = len(name) * (_CHARACTER + 1) + 36
            if x == 0 or x + width > _WIDTH:
                x = 0
                self.key_top += _KEY_ROW
                self.top += _KEY_ROW
            y = self.key_top - 6
            yield f'<rect class="s{_colour(name)}" x="{x}" y="{y - 10}" width="12" height="12" rx="3"/>'
            yield f'<text class="soft" x="{x + 18}" y="{y}">{escape(name)}</text>'
            x += width

    def _lane(self, lane: str, stages: Sequence[Stage], y: int) -> Iterator[str]:
        baseline = y + self.row // 2 + 4
        yield f'<text x="{self.left - 12}" y="{baseline}" text-anchor="end">{escape(_cut(lane))}</text>'
        end = self.left
        for stage in stages:
            x, stage_end = self.x(stage.start_us), self.x(stage.end_us)
            end = max(end, stage_end, x + 2)
            colour = _colour(stage.name)
            text = f"{stage.name} {milliseconds(stage.duration_us)}"
            yield f'<rect class="stage s{colour}" x="{x}" y="{y + self.gap}" width="{max(2, stage_end - x)}" '
            yield f'height="{self.row - 2 * self.gap}"><title>{escape(text)}</title></rect>'
            if len(stages) > 1 and stage_end - x > len(text) * (_CHARACTER + 1) + 16:
                kind = f"inside {_TEXT_ON.get(colour, '')}".strip()
                yield f'<text class="{kind}" x="{x + 8}" y="{baseline}">{escape(text)}</text>'
        only = milliseconds(stages[0].duration_us) if len(stages) == 1 else ""
        note = self.timeline.lane_notes.get(lane, only)
        if note:
            yield f'<text class="soft note" x="{end + 6}" y="{baseline}">{escape(_cut(note))}</text>'

    def _moments(self, y: int) -> Iterator[str]:
        yield f'<text x="{self.left - 12}" y="{y + 4}" text-anchor="end">events</text>'
        for moment in self.timeline.moments:
            kind = "own" if moment.own else "other"
            title = escape(f"+{milliseconds(moment.at_us)}: {moment.text}")
            yield f'<circle class="{kind}" cx="{self.x(moment.at_us)}" cy="{y}" r="4"><title>{title}</title></circle>'

    def x(self, at_us: int) -> int:
        """Return the x coordinate of a time."""
        return self.left + (_WIDTH - self.left - self.right) * at_us // self.whole_us


def _step(whole_us: int) -> int:
    """The smallest of 1, 2, 5, 10, 20 ... microseconds that cuts the whole into few enough steps."""
    decade = 1
    while True:
        for step in (decade, 2 * decade, 5 * decade):
            if whole_us <= step * _STEPS_MAX:
                return step
        decade *= 10


def _colour(name: str) -> int:
    return _COLOURS.get(name, _OTHER_COLOUR)


def _cut(text: str) -> str:
    """Cut the middle out of a long name: its end has the number of a partition, and what a lane is about."""
    if len(text) <= _LABEL_MAX:
        return text
    head = (_LABEL_MAX - 1) // 2
    return f"{text[:head]}…{text[head + 1 - _LABEL_MAX :]}"
