"""set-loss: an acknowledged value without an offset that the known log does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value."""
    for write in facts.writes:
        if write.offset >= 0 or not write.call.is_ok or not facts.has_log(write.key):
            continue
        if write.value not in facts.committed_in[write.key]:
            allowed = facts.loss_allowance(write.key, write.value, write.offset)
            yield Found(name="set-loss", values=[write.value], allowed=allowed, calls=[write.call], key=write.key)
