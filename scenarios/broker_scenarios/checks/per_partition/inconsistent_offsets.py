"""inconsistent-offsets: two different values acknowledged or polled at one offset of one partition (Jepsen).

After a truncation the new leader assigns an offset again: then the finding is a consequence of a loss, and is
permitted where the loss is. Without one, a broker acknowledged a record with the offset of another record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send
    from broker_scenarios.operations import Value

__all__ = ["inconsistent_offsets"]


def inconsistent_offsets(analysis: Analysis) -> Iterator[Finding]:
    """Find offsets with two or more values; one finding per offset, about the value that came last."""
    acked_at: dict[int, list[Send]] = {}
    for send in analysis.sends:
        if send.ack_offset >= 0 and send.committed:
            acked_at.setdefault(send.ack_offset, []).append(send)
    values_at: dict[int, dict[Value, None]] = {
        offset: dict.fromkeys(values) for offset, values in analysis.observed.conflicts()
    }
    for offset, sends in acked_at.items():
        if any(send.value_id != sends[0].value_id for send in sends):
            values_at.setdefault(offset, {}).update((send.value_id, None) for send in sends)
    for offset, values in values_at.items():
        acked = sorted(acked_at.get(offset, ()), key=lambda send: send.complete_us)
        ordered = list(dict.fromkeys([*(send.value_id for send in acked), *values]))
        first, last = ordered[0], ordered[-1]
        detail = f"offset {offset} was acknowledged or polled for the values {', '.join(map(str, ordered))}"
        sent = analysis.sends_of.get(last)
        kind = FindingKind.INCONSISTENT_OFFSETS
        if sent:
            about = next((send for send in acked if send.value_id == last), sent[0])
            finding = analysis.finding(kind, about, detail, offset=offset, other=first)
        else:
            finding = Finding(
                kind=kind,
                topic=analysis.topic,
                partition=analysis.partition,
                value_id=last,
                other_value_id=first,
                offset=offset,
                detail=detail,
            )
        finding.values = tuple(ordered)
        finding.ops = tuple(
            dict.fromkeys(
                call.name_index
                for value in ordered
                for call in (*(s.call for s in acked if s.value_id == value), analysis.readers.get(value))
                if call is not None
            )
        )
        if any(offset in analysis.truncated.get(value, ()) for value in ordered):
            finding.cause = Cause.TRUNCATED
        yield finding
