"""recovered: a record of unknown outcome that is stored or was polled. A time-out is no failure (KIP-91)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_partition.failed_but_stored import error_of
from broker_scenarios.findings import Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["recovered"]


def recovered(analysis: Analysis) -> Iterator[Finding]:
    """Find visible values without acknowledgement whose outcome was unknown at least once."""
    for value_id, sends in analysis.sends_of.items():
        stored = analysis.stored.get(value_id)
        if not (stored or value_id in analysis.readers) or any(send.acked for send in sends):
            continue
        unknown = next((send for send in sends if send.outcome is Outcome.UNKNOWN), None)
        if unknown is not None:
            offset, where = (stored[0], "stored") if stored else (analysis.polled[value_id][0], "polled")
            detail = f"outcome unknown ({error_of(unknown)}), {where} at offset {offset}"
            yield analysis.finding(FindingKind.RECOVERED, unknown, detail, offset=offset)
