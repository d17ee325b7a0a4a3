"""misdelivered: a stored value that no client sent to this partition, or that no client sent at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["misdelivered"]


def misdelivered(analysis: Analysis) -> Iterator[Finding]:
    """Find values in the log without a send in this partition's history."""
    for value_id, offsets in analysis.stored.items():
        if value_id not in analysis.sends_of:
            yield Finding(
                kind=FindingKind.MISDELIVERED,
                topic=analysis.topic,
                partition=analysis.partition,
                value_id=value_id,
                offset=offsets[0],
                detail=f"stored at offset {offsets[0]}; no client sent value {value_id} to this partition",
            )
