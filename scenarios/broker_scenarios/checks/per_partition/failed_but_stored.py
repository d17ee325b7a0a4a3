"""failed-but-stored: a record that was reported as certainly failed and is in the log (Jepsen's G1a, from the log)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send

__all__ = ["error_of", "failed_but_stored"]


def failed_but_stored(analysis: Analysis) -> Iterator[Finding]:
    """Find stored values whose sends all certainly failed."""
    for value_id, sends in analysis.sends_of.items():
        offsets = analysis.stored.get(value_id)
        if offsets and all(send.outcome is Outcome.FAILED for send in sends):
            send = sends[-1]
            detail = f"reported as failed ({error_of(send)}), stored at offset {offsets[0]}"
            yield analysis.finding(FindingKind.FAILED_BUT_STORED, send, detail, offset=offsets[0])


def error_of(send: Send) -> str:
    """Return the error that a send ended with."""
    if not send.completions:
        return "never reported"
    return send.error or f"error {send.error_code}"
