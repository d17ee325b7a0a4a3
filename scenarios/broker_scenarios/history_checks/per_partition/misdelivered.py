"""misdelivered: a value in a partition to which no operation sent it, or that no operation sent at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Value


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value and partition."""
    found: dict[tuple[str, Value], list[Call]] = {}
    for read in facts.reads:
        for _, value in read.pairs:
            if _is_foreign(facts, read.key, value):
                found.setdefault((read.key, value), []).append(read.call)
    for key, values in facts.committed_in.items():
        for value in values:
            if _is_foreign(facts, key, value):
                found.setdefault((key, value), [])
    for (key, value), calls in found.items():
        writers = [write.call for write in facts.writes_of.get(value, ())]
        yield Found(name="misdelivered", values=[value], calls=[*writers, *calls], key=key)


def _is_foreign(facts: Facts, key: str, value: Value) -> bool:
    return all(write.key != key for write in facts.writes_of.get(value, ()))
