"""int-nonmonotonic-poll: one operation polls a record at or before the place that it had reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_process.nonmonotonic_polls import back_step
from broker_scenarios.checks.per_process.poll_moves import moves_within_calls
from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["int_nonmonotonic_polls"]


def int_nonmonotonic_polls(history: WholeHistory) -> Iterator[Finding]:
    """Find steps back within operations; one finding per step."""
    for move in moves_within_calls(history):
        yield from back_step(history, move, FindingKind.INT_NONMONOTONIC_POLL)
