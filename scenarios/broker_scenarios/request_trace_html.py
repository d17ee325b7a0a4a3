"""A request's trace as a page: an SVG of the stages over time, and the list of what happened. Every name is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from broker_scenarios.html_page import html_page, write_page
from broker_scenarios.request_trace_text import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_scenarios.request_trace import RequestTrace, Stage

__all__ = ["render_trace", "write_trace"]

_STYLE: Final = """
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg .soft { fill: var(--soft); } svg .axis { stroke: var(--line); }
.stage { rx: 4px; } .s0 { fill: var(--isr); } .s1 { fill: var(--b0); } .s2 { fill: var(--b2); }
.s3 { fill: var(--unsure); } .s4 { fill: var(--acked); } .s5 { fill: var(--b1); }
.own { fill: var(--watermark); } .other { fill: var(--b3); }
td.at { white-space: nowrap; font-variant-numeric: tabular-nums; text-align: right; width: 1%; }
tr.meanwhile td { color: var(--soft); }
"""
_COLOURS: Final = ("request queue", "handler", "purgatory", "throttle", "response queue", "response send")
_LEFT: Final = 130
_RIGHT: Final = 110
_WIDTH: Final = 1000
_ROW: Final = 30
_TOP: Final = 24
_STEPS: Final = 5


def write_trace(path: Path, trace: RequestTrace) -> Path:
    """Write the page; returns the path as it can be opened."""
    return write_page(path, render_trace(trace))


def render_trace(trace: RequestTrace) -> str:
    """The whole page."""
    rows = "".join(
        f'<tr class="{"" if moment.own else "meanwhile"}"><td class="at">+{milliseconds(moment.at_us)}</td>'
        f"<td>{escape(moment.text)}</td></tr>"
        for moment in trace.moments
    )
    more = f'<p class="soft">{trace.left_out:,} more things happened meanwhile.</p>' if trace.left_out else ""
    took = "no answer" if trace.traced.response is None else milliseconds(trace.traced.total_us)
    body = f"""<header><h1>broker-sim trace</h1><span class="soft">{took}</span></header>
<section class="card">
<h2>{escape(trace.title)}</h2>
<p class="soft">{escape(trace.connection)}</p>
<div class="scroll">{"".join(_chart(trace))}</div>
</section>
<section class="card">
<h2>What happened</h2>
<div class="scroll"><table>{rows}</table></div>{more}
</section>"""
    return html_page(title=f"{trace.traced.request.api}: {took}", body=body, style=_STYLE)


def _chart(trace: RequestTrace) -> Iterator[str]:
    whole_us = max(1, trace.end_us)
    bottom = _TOP + _ROW * (len(trace.stages) + 1)
    yield f'<svg viewBox="0 0 {_WIDTH} {bottom + 24}" role="img" aria-label="the stages of the request">'
    for step in range(_STEPS + 1):
        x = _x(whole_us * step // _STEPS, whole_us)
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{bottom}"/>'
        yield f'<text class="soft" x="{x}" y="{bottom + 18}" text-anchor="middle">'
        yield f"{milliseconds(whole_us * step // _STEPS)}</text>"
    for row, stage in enumerate(trace.stages):
        yield from _bar(stage, row, whole_us)
    y = _TOP + _ROW * len(trace.stages) + _ROW // 2
    yield f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">events</text>'
    for moment in trace.moments:
        kind = "own" if moment.own else "other"
        title = escape(f"+{milliseconds(moment.at_us)}: {moment.text}")
        yield f'<circle class="{kind}" cx="{_x(moment.at_us, whole_us)}" cy="{y}" r="4"><title>{title}</title></circle>'
    yield "</svg>"


def _bar(stage: Stage, row: int, whole_us: int) -> Iterator[str]:
    x, end = _x(stage.start_us, whole_us), _x(stage.start_us + stage.duration_us, whole_us)
    y = _TOP + _ROW * row
    colour = _COLOURS.index(stage.name) if stage.name in _COLOURS else 1
    time = milliseconds(stage.duration_us)
    yield f'<text x="{_LEFT - 12}" y="{y + 18}" text-anchor="end">{escape(stage.name)}</text>'
    yield f'<rect class="stage s{colour}" x="{x}" y="{y + 4}" width="{max(2, end - x)}" height="{_ROW - 8}">'
    yield f"<title>{escape(stage.name)}: {time}</title></rect>"
    yield f'<text class="soft" x="{max(end, x + 2) + 6}" y="{y + 18}">{time}</text>'


def _x(at_us: int, whole_us: int) -> int:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at_us // whole_us
