"""precommitted-read: an operation of any outcome polls a record that it sent itself.

Legal in most databases; Kafka's consumers may read a record only after its transaction has committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["precommitted_reads"]


def precommitted_reads(history: WholeHistory) -> Iterator[Finding]:
    """Find records polled by their own transaction; one finding per value."""
    for call in history.calls:
        if not (call.sends and call.polls):
            continue
        polled = {(key, value): None for key, pairs in call.polls for _, value in pairs}
        for send in call.sends:
            if (send.key, send.value_id) in polled:
                yield history.finding(
                    FindingKind.PRECOMMITTED_READ,
                    send.key,
                    [call],
                    f"process {call.process} polls value {send.value_id} in the transaction that sends it",
                    values=(send.value_id,),
                    cause=Cause.UNCOMMITTED,
                )
