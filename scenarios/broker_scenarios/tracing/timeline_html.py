"""A timeline as a page: the drawing of its lanes over time, and the list of its events. Every name is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from broker_scenarios.tracing.timeline_svg import STYLE, chart
from broker_scenarios.tracing.timeline_text import milliseconds
from broker_sim.html_page import html_page, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.tracing.timeline import Timeline

__all__ = ["render_timeline", "write_timeline"]

_STYLE: Final = """
td.at { white-space: nowrap; font-variant-numeric: tabular-nums; text-align: right; width: 1%; }
tr.meanwhile td { color: var(--soft); }
"""


def write_timeline(path: Path, timeline: Timeline) -> Path:
    """Write the page; returns the path as it can be opened."""
    return write_page(path, render_timeline(timeline), "--html")


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
<div class="scroll">{chart(timeline)}</div>
</section>
<section class="card">
<h2>What happened</h2>
<div class="scroll"><table>{rows}</table></div>{more}
</section>"""
    return html_page(title=f"{timeline.name}: {took}", body=body, style=STYLE + _STYLE)
