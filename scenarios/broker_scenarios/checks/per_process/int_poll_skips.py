"""int-poll-skip: one operation polls past records that are known to exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_process.poll_moves import moves_within_calls
from broker_scenarios.checks.per_process.poll_skips import skip
from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["int_poll_skips"]


def int_poll_skips(history: WholeHistory) -> Iterator[Finding]:
    """Find skips within operations; one finding per skip, with the values skipped."""
    for move in moves_within_calls(history):
        yield from skip(history, move, FindingKind.INT_POLL_SKIP)
