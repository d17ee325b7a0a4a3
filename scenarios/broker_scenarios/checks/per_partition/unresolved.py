"""unresolved: a send without an outcome.

Its process was flushed or closed, or its `delivery.timeout.ms` is over (KIP-91). A send whose process crashed has
none to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send

__all__ = ["is_overdue", "unresolved", "without_outcome"]


def unresolved(analysis: Analysis) -> Iterator[Finding]:
    """Find sends that were accepted and not reported in time."""
    for send in without_outcome(analysis):
        if is_overdue(analysis, send):
            detail = f"send {send.index} of process {send.process} was accepted and never reported"
            yield analysis.finding(FindingKind.UNRESOLVED, send, detail)


def is_overdue(analysis: Analysis, send: Send) -> bool:
    """True if the outcome of a send is to be known: its time is over, or its process was flushed or closed."""
    return send.invoke_us <= analysis.overdue_us or (send.call is not None and send.call.overdue)


def without_outcome(analysis: Analysis) -> Iterator[Send]:
    """Return the sends that were not reported."""
    for send in analysis.sends:
        # The sends of a transaction are reported with it.
        if not send.completions and (send.call is None or not (send.call.crashed or send.call.transactional)):
            yield send
