"""lost-write: an acknowledged record that no log of its partition holds at the end.

With the logs as the oracle this is Jepsen's lost-write, unseen and set-loss in one: a lost suffix counts, and
so does a record acknowledged without an offset (acks=0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["lost_writes"]


def lost_writes(analysis: Analysis) -> Iterator[Finding]:
    """Find every acknowledged value that is not stored; one finding per value."""
    for value_id, sends in analysis.sends_of.items():
        if value_id in analysis.stored:
            continue
        acked = next((send for send in sends if send.acked), None)
        if acked is not None:
            offset = f"offset {acked.ack_offset}" if acked.ack_offset >= 0 else "no offset"
            yield analysis.finding(FindingKind.LOST_WRITE, acked, f"acknowledged with {offset}, in no log at the end")
