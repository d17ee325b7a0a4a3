"""G1a: a successful poll shows a value whose send certainly failed, or whose transaction was aborted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value of which every attempt failed."""
    for key, values in facts.ok_reads_of.items():
        for value, read in values.items():
            writes = facts.writes_of.get(value, ())
            if writes and all(write.call.outcome is EventType.FAIL for write in writes):
                allowed = None
                if not facts.claims.read_committed and all(write.is_transactional for write in writes):
                    allowed = "isolation.level=read_uncommitted: records of aborted transactions are read"
                calls = [*(write.call for write in writes), read.call]
                yield Found(name="G1a", values=[value], allowed=allowed, calls=calls, key=key)
