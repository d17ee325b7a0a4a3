"""failed-but-stored and recovered: records without acknowledgement that are in the log.

A send reported as certainly failed must not be stored: this is Jepsen's G1a, read from the log. A send of
unknown outcome may be: a timeout is not a failure (KIP-91), so `recovered` is information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis, Send

__all__ = ["failed_but_stored", "recovered"]


def failed_but_stored(analysis: Analysis) -> Iterator[Finding]:
    """Find stored values whose sends all certainly failed."""
    for value_id, sends in analysis.sends_of.items():
        offsets = analysis.stored.get(value_id)
        if offsets and all(send.outcome is Outcome.FAILED for send in sends):
            send = sends[-1]
            detail = f"reported as failed ({_error(send)}), stored at offset {offsets[0]}"
            yield analysis.finding(FindingKind.FAILED_BUT_STORED, send, detail, offset=offsets[0])


def recovered(analysis: Analysis) -> Iterator[Finding]:
    """Find stored values without acknowledgement whose outcome was unknown at least once."""
    for value_id, sends in analysis.sends_of.items():
        offsets = analysis.stored.get(value_id)
        if not offsets or any(send.acked for send in sends):
            continue
        unknown = next((send for send in sends if send.outcome is Outcome.UNKNOWN), None)
        if unknown is not None:
            detail = f"outcome unknown ({_error(unknown)}), stored at offset {offsets[0]}"
            yield analysis.finding(FindingKind.RECOVERED, unknown, detail, offset=offsets[0])


def _error(send: Send) -> str:
    if not send.completions:
        return "never reported"
    return send.error or f"error {send.error_code}"
