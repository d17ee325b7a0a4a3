"""unseen: a record that was acknowledged and that no ok poll returned, although final polls read its partition.

Unlike lost-write it sees a lost suffix without knowing the log; without final polls it sees nothing. A final poll that
began before the acknowledgement need not return the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send

__all__ = ["unread", "unseen"]


def unseen(analysis: Analysis) -> Iterator[Finding]:
    """Find every value that was acknowledged and not polled; one finding per value."""
    if analysis.finally_polled:
        for send in unread(analysis):
            if send.complete_us > analysis.final_poll_us:
                continue
            where = f"offset {send.ack_offset}" if send.ack_offset >= 0 else "no offset"
            yield analysis.finding(FindingKind.UNSEEN, send, f"{where}, missing in the final polls")


def unread(analysis: Analysis) -> Iterator[Send]:
    """Return an acknowledged send of each value that no ok poll returned."""
    for value, sends in analysis.sends_of.items():
        if value not in analysis.readers:
            acked = next((send for send in sends if send.acked), None)
            if acked is not None:
                yield acked
