"""poll-skip: a process polls past records that are known to exist, between one operation and the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_process.poll_moves import PollMove, moves_between_calls
from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["poll_skips", "skip"]


def poll_skips(history: WholeHistory) -> Iterator[Finding]:
    """Find skips between operations; one finding per skip, with the values skipped."""
    for move in moves_between_calls(history):
        yield from skip(history, move, FindingKind.POLL_SKIP)


def skip(history: WholeHistory, move: PollMove, kind: FindingKind) -> Iterator[Finding]:
    """Find the skip of a move, if it is one. Values with several places, or that share one, are left out."""
    if move.second <= move.first + 1:
        return
    skipped = history.analyses[move.key].observed.between(move.first, move.second)
    if skipped:
        who = f"process {move.calls[0].process}"
        detail = f"{who} reads offset {move.second} of {move.key} after {move.first}, and skips {len(skipped)} records"
        cause = Cause.SUBSCRIBED if move.subscribed else Cause.UNEXPLAINED
        yield history.finding(kind, move.key, move.calls, detail, values=tuple(skipped), cause=cause)
