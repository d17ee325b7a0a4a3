"""ghost-read: a polled value that the log does not hold as committed at the end.

It was above the high watermark and truncated later, or it belongs to a transaction that is open or aborted. Offsets
below the start of the log prove nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["ghost_reads"]


def ghost_reads(analysis: Analysis) -> Iterator[Finding]:
    """Find polled values that are not committed; one finding per value."""
    if not analysis.log_known:
        return
    for value, offsets in analysis.polled.items():
        if value in analysis.stored or offsets[0] < analysis.log_start:
            continue
        held = analysis.uncommitted.get(value)
        reader = analysis.readers.get(value)
        fate = f"in a transaction that is not committed, at offset {held[0]}" if held else "not in the log at the end"
        finding = Finding(
            kind=FindingKind.GHOST_READ,
            topic=analysis.topic,
            partition=analysis.partition,
            value_id=value,
            offset=offsets[0],
            detail=f"polled at offset {offsets[0]}, {fate}",
            values=(value,),
            ops=() if reader is None else (reader.name_index,),
        )
        if held:
            finding.cause = Cause.UNCOMMITTED
        yield finding
