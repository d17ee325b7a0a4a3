"""precommitted-read: one operation both sends and polls a value, however it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Value


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value."""
    sent: dict[int, set[Value]] = {}
    for write in facts.writes:
        sent.setdefault(id(write.call), set()).add(write.value)
    allowed = None
    if not facts.claims.read_committed:
        allowed = "isolation.level=read_uncommitted: records are read before they are committed"
    for read in facts.reads:
        own = sent.get(id(read.call), set())
        for _, value in read.pairs:
            if value in own:
                yield Found(name="precommitted-read", values=[value], allowed=allowed, calls=[read.call], key=read.key)
