"""offset-oracle: an acknowledgement with an offset at which the record never was.

The offset of a copy that was truncated later was correct at the time of the acknowledgement, and an acknowledgement
without an offset (acks=0, or a duplicate that the broker recognised) has no offset to check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["wrong_offsets"]


def wrong_offsets(analysis: Analysis) -> Iterator[Finding]:
    """Find acknowledged offsets that contradict the log; a value in no log is a lost write, not this."""
    for send in analysis.sends:
        offsets = analysis.stored.get(send.value_id)
        if not send.acked or send.ack_offset < 0 or not offsets or send.ack_offset in offsets:
            continue
        if send.ack_offset in analysis.truncated.get(send.value_id, ()):
            continue
        detail = f"acknowledged at offset {send.ack_offset}, stored at {', '.join(map(str, offsets))}"
        yield analysis.finding(FindingKind.OFFSET_ORACLE, send, detail, offset=offsets[0])
