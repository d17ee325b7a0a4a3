"""duplicate: one value at two or more offsets of its partition's log.

The cause names the origin: an application that sends a value again itself gets two copies under any
configuration; one send with two copies was a retry (or a broker) that appended twice. The log decides, not
a poll: one offset that is read twice is no duplicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["duplicates"]


def duplicates(analysis: Analysis) -> Iterator[Finding]:
    """Find every value that is stored more than once; one finding per value."""
    for value_id, sends in analysis.sends_of.items():
        offsets = analysis.stored.get(value_id, [])
        if len(offsets) < 2:
            continue
        perhaps_stored = sum(send.outcome is not Outcome.FAILED for send in sends)
        finding = analysis.finding(
            FindingKind.DUPLICATE,
            next((send for send in sends if send.acked), sends[0]),
            f"stored at offsets {', '.join(map(str, offsets))}; sent by the application {len(sends)} time(s)",
            offset=offsets[-1],
        )
        finding.cause = Cause.APPLICATION_RESEND if perhaps_stored >= len(offsets) else Cause.RETRY
        yield finding
