"""double-completion: a send that was reported more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["double_completions"]


def double_completions(analysis: Analysis) -> Iterator[Finding]:
    """Find sends that were reported more than once."""
    for send in analysis.sends:
        if len(send.completions) > 1:
            events = ", then ".join(event.value for event in send.completions)
            detail = f"send {send.index} of process {send.process} was reported {events}"
            yield analysis.finding(FindingKind.DOUBLE_COMPLETION, send, detail)
