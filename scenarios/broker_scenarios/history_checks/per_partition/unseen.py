"""unseen: an acknowledged value that no read shows, although final polls have read the partition to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Value


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value."""
    seen: set[tuple[str, Value]] = set()
    for write in facts.writes:
        at = (write.key, write.value)
        if write.key not in facts.final_keys or at in seen or not write.call.is_ok or facts.is_read(*at):
            continue
        seen.add(at)
        allowed = facts.loss_allowance(write.key, write.value, write.offset)
        yield Found(name="unseen", values=[write.value], allowed=allowed, calls=[write.call], key=write.key)
