"""duplicate: a value at two or more offsets of one partition. One offset that is read twice is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Value


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value."""
    for key in facts.keys:
        places: dict[Value, set[int]] = {}
        for offset, values in facts.values_at.get(key, {}).items():
            for value in values:
                places.setdefault(value, set()).add(offset)
        for value, offsets in facts.committed_in.get(key, {}).items():
            if len(offsets) > 1:
                places.setdefault(value, set()).update(offsets)
        for value, found in places.items():
            if len(found) > 1:
                calls = [write.call for write in facts.writes_of.get(value, ())]
                yield Found(name="duplicate", values=[value], allowed=_allowed(facts, value), calls=calls, key=key)


def _allowed(facts: Facts, value: Value) -> str | None:
    if len(facts.writes_of.get(value, ())) > 1:
        return "the application sent the value more than once"
    promises = facts.claims.promises
    if not promises.enable_idempotence and promises.retries > 0:
        return "enable.idempotence=false: a retry of a batch whose response was lost is appended again"
    return None
