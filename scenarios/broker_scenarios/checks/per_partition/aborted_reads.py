"""G1a: an ok poll returned a value whose send or transaction failed (an aborted read, Adya's G1a).

A value that the application sent again counts only if each attempt failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis

__all__ = ["aborted_reads"]


def aborted_reads(analysis: Analysis) -> Iterator[Finding]:
    """Find the values of failed sends in ok polls; one finding per value."""
    for value, reader in analysis.readers.items():
        sends = analysis.sends_of.get(value)
        if not sends or any(send.outcome is not Outcome.FAILED for send in sends):
            continue
        send = sends[-1]
        finding = analysis.finding(FindingKind.G1A, send, f"failed, and polled by process {reader.process}")
        finding.ops = (*finding.ops, reader.name_index)
        if send.transactional:
            finding.cause = Cause.UNCOMMITTED
        yield finding
