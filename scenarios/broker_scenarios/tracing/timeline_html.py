"""A timeline as a page: an SVG of its lanes over time, and the list of what happened. Every name is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from broker_scenarios.html_page import html_page, write_page
from broker_scenarios.tracing.timeline_text import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from broker_scenarios.tracing.timeline import Stage, Timeline

__all__ = ["render_timeline", "write_timeline"]

_STYLE: Final = """
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg .soft { fill: var(--soft); } svg .axis { stroke: var(--line); } svg .inside { pointer-events: none; }
svg .on-dark { fill: #fff; } svg .on-light { fill: #17202b; } svg.close text { font-size: 11.5px; }
.stage { rx: 4px; } .s0 { fill: var(--isr); } .s1 { fill: var(--b0); } .s2 { fill: var(--b2); }
.s3 { fill: var(--unsure); } .s4 { fill: var(--acked); } .s5 { fill: var(--b1); } .s6 { fill: var(--b3); }
.s7 { fill: var(--b5); } .s8 { fill: var(--none); }
.own { fill: var(--watermark); } .other { fill: var(--b3); }
.key { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 8px 0 10px; font-size: 13px; color: var(--soft); }
.key span { display: inline-flex; align-items: center; gap: 6px; }
.key svg { width: 12px; height: 12px; min-width: 0; flex: none; }
td.at { white-space: nowrap; font-variant-numeric: tabular-nums; text-align: right; width: 1%; }
tr.meanwhile td { color: var(--soft); }
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
    "no answer": 8,
}
_OTHER_COLOUR: Final = 1
_TEXT_ON: Final = {1: "on-dark", 2: "on-dark", 3: "on-light", 5: "on-dark", 6: "on-dark", 7: "on-dark", 8: "on-dark"}
"""What can be read on a colour in light and dark surroundings; on the others that is the page's own ink."""
_CHARACTER: Final = 7
_LEFT_MIN: Final = 130
_RIGHT: Final = 110
_WIDTH: Final = 1000
_ROW: Final = 30
_CLOSE_ROW: Final = 22
_CLOSE_FROM: Final = 16
"""With so many lanes their rows are closer."""
_TOP: Final = 24
_STEPS_MAX: Final = 6


def write_timeline(path: Path, timeline: Timeline) -> Path:
    """Write the page; returns the path as it can be opened."""
    return write_page(path, render_timeline(timeline))


def render_timeline(timeline: Timeline) -> str:
    """The whole page."""
    rows = "".join(
        f'<tr class="{"" if moment.own else "meanwhile"}"><td class="at">+{milliseconds(moment.at_us)}</td>'
        f"<td>{escape(moment.text)}</td></tr>"
        for moment in timeline.moments
    )
    more = f'<p class="soft">{timeline.left_out:,} more things happened meanwhile.</p>' if timeline.left_out else ""
    took = timeline.unended if timeline.took_us is None else milliseconds(timeline.took_us)
    body = f"""<header><h1>broker-sim trace</h1><span class="soft">{took}</span></header>
<section class="card">
<h2>{escape(timeline.title)}</h2>
<p class="soft">{escape(timeline.source)}</p>
{"".join(_legend(timeline))}
<div class="scroll">{"".join(_Chart(timeline).lines())}</div>
</section>
<section class="card">
<h2>What happened</h2>
<div class="scroll"><table>{rows}</table></div>{more}
</section>"""
    return html_page(title=f"{timeline.name}: {took}", body=body, style=_STYLE)


def _legend(timeline: Timeline) -> Iterator[str]:
    """What each colour stands for; rows that are named by their only stage need none."""
    names = dict.fromkeys(stage.name for stage in timeline.stages if stage.lane)
    if names:
        yield '<div class="key">'
        for name in names:
            swatch = f'<svg viewBox="0 0 12 12"><rect class="s{_colour(name)}" width="12" height="12" rx="3"/></svg>'
            yield f"<span>{swatch}{escape(name)}</span>"
        yield "</div>"


class _Chart:
    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.lanes = timeline.lanes
        self.whole_us = max(1, timeline.end_us)
        self.left = max([_LEFT_MIN, *(len(lane) * _CHARACTER + 24 for lane in self.lanes)])
        self.right = max([_RIGHT, *(len(note) * _CHARACTER + 18 for note in timeline.lane_notes.values())])
        self.close = len(self.lanes) >= _CLOSE_FROM
        self.row, self.gap = (_CLOSE_ROW, 3) if self.close else (_ROW, 4)

    def lines(self) -> Iterator[str]:
        moments_top = _TOP + self.row * len(self.lanes)
        bottom = moments_top + _ROW
        close = ' class="close"' if self.close else ""
        yield f'<svg{close} viewBox="0 0 {_WIDTH} {bottom + 24}" role="img" aria-label="stages over time">'
        for at_us in range(0, self.whole_us + 1, _step(self.whole_us)):
            x = self.x(at_us)
            yield f'<line class="axis" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{bottom}"/>'
            yield f'<text class="soft" x="{x}" y="{bottom + 18}" text-anchor="middle">'
            yield f"{at_us / 1000:,.9g} ms</text>"
        for row, (lane, stages) in enumerate(self.lanes.items()):
            yield from self.lane(lane, stages, _TOP + self.row * row)
        y = moments_top + _ROW // 2
        yield f'<text x="{self.left - 12}" y="{y + 4}" text-anchor="end">events</text>'
        for moment in self.timeline.moments:
            kind = "own" if moment.own else "other"
            title = escape(f"+{milliseconds(moment.at_us)}: {moment.text}")
            yield f'<circle class="{kind}" cx="{self.x(moment.at_us)}" cy="{y}" r="4"><title>{title}</title></circle>'
        yield "</svg>"

    def lane(self, lane: str, stages: Sequence[Stage], y: int) -> Iterator[str]:
        baseline = y + self.row // 2 + 4
        yield f'<text x="{self.left - 12}" y="{baseline}" text-anchor="end">{escape(lane)}</text>'
        end = self.left
        for stage in stages:
            x, stage_end = self.x(stage.start_us), self.x(stage.end_us)
            end = max(end, stage_end, x + 2)
            colour = _colour(stage.name)
            text = f"{stage.name} {milliseconds(stage.duration_us)}"
            yield f'<rect class="stage s{colour}" x="{x}" y="{y + self.gap}" width="{max(2, stage_end - x)}" '
            yield f'height="{self.row - 2 * self.gap}"><title>{escape(text)}</title></rect>'
            if len(stages) > 1 and stage_end - x > len(text) * _CHARACTER + 12:
                kind = f"inside {_TEXT_ON.get(colour, '')}".strip()
                yield f'<text class="{kind}" x="{x + 8}" y="{baseline}">{escape(text)}</text>'
        only = milliseconds(stages[0].duration_us) if len(stages) == 1 else ""
        note = self.timeline.lane_notes.get(lane, only)
        if note:
            yield f'<text class="soft" x="{end + 6}" y="{baseline}">{escape(note)}</text>'

    def x(self, at_us: int) -> int:
        """Where a time is."""
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
