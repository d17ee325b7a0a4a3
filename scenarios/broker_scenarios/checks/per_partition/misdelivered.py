"""misdelivered: a value stored in or polled from a partition to which no client sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["misdelivered"]


def misdelivered(analysis: Analysis) -> Iterator[Finding]:
    """Find values in the log and in polls without a send in this partition's history; one finding per value."""
    places = (("stored", analysis.stored), ("stored", analysis.uncommitted), ("polled", analysis.polled))
    reported: dict[object, None] = {}
    for where, offsets_of in places:
        for value_id, offsets in offsets_of.items():
            if value_id in analysis.sends_of or value_id in reported:
                continue
            reported[value_id] = None
            reader = analysis.readers.get(value_id)
            yield Finding(
                kind=FindingKind.MISDELIVERED,
                topic=analysis.topic,
                partition=analysis.partition,
                value_id=value_id,
                offset=offsets[0],
                detail=f"{where} at offset {offsets[0]}; no client sent value {value_id} to this partition",
                values=(value_id,),
                ops=() if reader is None else (reader.name_index,),
            )
