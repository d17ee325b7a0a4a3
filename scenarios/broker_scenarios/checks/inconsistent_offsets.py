"""inconsistent-offsets: two different values acknowledged at one offset of one partition (Jepsen).

After a truncation the new leader assigns an offset again: then the finding is a consequence of a loss, and is
permitted where the loss is. Without one, a broker acknowledged a record with the offset of another record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis, Send

__all__ = ["inconsistent_offsets"]


def inconsistent_offsets(analysis: Analysis) -> Iterator[Finding]:
    """Find offsets that were acknowledged for two or more values; one finding for each value after the first."""
    acked_at: dict[int, list[Send]] = {}
    for send in analysis.sends:
        if send.acked and send.ack_offset >= 0:
            acked_at.setdefault(send.ack_offset, []).append(send)
    for offset, sends in acked_at.items():
        if len(sends) == 1:
            continue
        acked = list({send.value_id: send for send in sends}.values())
        acked.sort(key=lambda send: (send.complete_us, send.value_id))
        for send in acked[1:]:
            first = acked[0]
            detail = f"offset {offset} was acknowledged for value {first.value_id} and for value {send.value_id}"
            finding = analysis.finding(
                FindingKind.INCONSISTENT_OFFSETS, send, detail, offset=offset, other=first.value_id
            )
            if any(offset in analysis.truncated.get(each.value_id, ()) for each in (first, send)):
                finding.cause = Cause.TRUNCATED
            yield finding
