"""lost-write: an acknowledged record that no log of its partition holds at the end, or that every reader passed.

With the log as the oracle a lost suffix counts. Without it this is Jepsen's lost-write: up to the highest value that
an ok poll read, each committed value has to be read by one. The bound takes the lowest offset of a value and
membership the highest one, so that two values at one offset raise no false finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send

__all__ = ["lost_writes", "missing_in_log", "passed_by_readers"]


def lost_writes(analysis: Analysis) -> Iterator[Finding]:
    """Find every acknowledged value that is not stored or was not read; one finding per value."""
    reported: dict[object, None] = {}
    for acked in missing_in_log(analysis):
        if acked.ack_offset >= 0:
            detail = f"offset {acked.ack_offset}, missing in the log"
            reported[acked.value_id] = None
            yield analysis.finding(FindingKind.LOST_WRITE, acked, detail)
    for send, bound in passed_by_readers(analysis):
        if send.value_id not in reported:
            where = f"offset {send.ack_offset}" if send.ack_offset >= 0 else "seen by another poll"
            detail = f"{where}, missing in the ok polls, which read up to offset {bound}"
            yield analysis.finding(FindingKind.LOST_WRITE, send, detail)


def missing_in_log(analysis: Analysis) -> Iterator[Send]:
    """Return the acknowledged send of each value that the log does not hold as committed."""
    if not analysis.log_known:
        return
    for value, sends in analysis.sends_of.items():
        if value in analysis.stored or value in analysis.open_values:
            continue
        acked = [send for send in sends if send.acked]
        if acked:
            yield next((send for send in acked if send.ack_offset >= 0), acked[0])


def passed_by_readers(analysis: Analysis) -> Iterator[tuple[Send, int]]:
    """Return a committed send of each value that ok polls passed without reading it, and the offset they reached."""
    observed = analysis.observed
    bound = max((observed.offsets_of(value)[0] for value in analysis.readers), default=-1)
    if bound < 0:
        return
    for value in observed.up_to(bound):
        if value not in analysis.readers:
            committed = next((send for send in analysis.sends_of.get(value, ()) if send.committed), None)
            if committed is not None:
                yield committed, bound
