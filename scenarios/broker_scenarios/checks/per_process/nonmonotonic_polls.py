"""nonmonotonic-poll: a process polls a record at or before the place that it had reached, in a later operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_process.poll_moves import PollMove, moves_between_calls
from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["back_step", "nonmonotonic_polls"]


def nonmonotonic_polls(history: WholeHistory) -> Iterator[Finding]:
    """Find steps back between operations; one finding per step."""
    for move in moves_between_calls(history):
        yield from back_step(history, move, FindingKind.NONMONOTONIC_POLL)


def back_step(history: WholeHistory, move: PollMove, kind: FindingKind) -> Iterator[Finding]:
    """Find the step back of a move, if it is one."""
    if move.second <= move.first:
        who = f"process {move.calls[0].process}"
        detail = f"{who} reads offset {move.second} of {move.key} after {move.first}"
        cause = Cause.SUBSCRIBED if move.subscribed else Cause.UNEXPLAINED
        yield history.finding(kind, move.key, move.calls, detail, cause=cause)
