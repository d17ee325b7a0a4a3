"""The live page: one document with its style and script, which shows a cluster and injects faults by the HTTP calls."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from broker_sim.html_page import html_page

__all__ = ["POLICY", "live_page"]

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The Content-Security-Policy: the page loads nothing, and sends requests to its own server alone."""
STYLE: Final = """
header select, input, textarea { font: inherit; font-size: 13.5px; color: inherit; background: var(--tint);
  border: 1px solid var(--line); border-radius: 8px; padding: 3px 8px; }
textarea { width: 100%; margin: 6px 0; font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
header #reset { margin-left: 0; }
td button { margin-right: 6px; }
button:focus-visible, input:focus-visible, select:focus-visible, textarea:focus-visible, tr:focus-visible {
  outline: 2px solid var(--b0); outline-offset: 1px; }
dialog { color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 12px; max-width: 90vw; }
#events td, #trace-events td { font-size: 13px; padding-top: 3px; padding-bottom: 3px; }
#events td:last-child { overflow-wrap: anywhere; min-width: 260px; }
"""


@cache
def live_page() -> str:
    """Return the document."""
    folder = Path(__file__)
    body = folder.with_name("live_page.html").read_text(encoding="utf-8")
    script = folder.with_name("live_page.js").read_text(encoding="utf-8")
    return html_page(title="broker-sim", body=body, style=STYLE, script=script)
