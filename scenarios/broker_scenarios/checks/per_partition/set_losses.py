"""set-loss: a record acknowledged without an offset that its log does not hold at the end.

Under acks=0, and where a broker acknowledges a duplicate without its offset, no order can be checked: the acknowledged
values are compared with the stored ones as sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_partition.lost_writes import missing_in_log
from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["set_losses"]


def set_losses(analysis: Analysis) -> Iterator[Finding]:
    """Find every value that was acknowledged, never with an offset, and is not stored; one finding per value."""
    for acked in missing_in_log(analysis):
        if acked.ack_offset < 0:
            yield analysis.finding(FindingKind.SET_LOSS, acked, "missing in the log")
