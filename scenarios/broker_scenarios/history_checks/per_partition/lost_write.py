"""lost-write: a committed value that reads have passed without it, or that its known log does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.history_checks.facts import Write

__all__ = ["check", "lost"]


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value."""
    for write in lost(facts):
        allowed = facts.loss_allowance(write.key, write.value, write.offset)
        calls = [each.call for each in facts.writes_of[write.value]]
        yield Found(name="lost-write", values=[write.value], allowed=allowed, calls=calls, key=write.key)


def lost(facts: Facts) -> Iterator[Write]:
    """The lost writes.

    The bound of a key is the highest first place of a value that was read. A value whose last place is not above it and
    that no read shows is lost; first for the bound and last for the value keep conflicts from raising false findings.
    """
    bounds = {
        key: max((place for value in values if (place := facts.first_place(key, value)) is not None), default=-1)
        for key, values in facts.ok_reads_of.items()
    }
    seen: set[tuple[str, object]] = set()
    for write in facts.writes:
        key, value = write.key, write.value
        if (key, value) in seen or facts.is_read(key, value) or not facts.is_committed(write.call):
            continue
        place = facts.last_place(key, value)
        is_passed = place is not None and place <= bounds.get(key, -1)
        is_gone = facts.has_log(key) and write.offset >= 0 and value not in facts.committed_in[key]
        if is_passed or is_gone:
            seen.add((key, value))
            yield write
