"""inconsistent-offsets: one offset of a partition holds two values, by acknowledgements or by polls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each offset, with all of its values. One that follows from a permitted loss is permitted."""
    for key, offsets in facts.values_at.items():
        for offset, values in offsets.items():
            if len(values) > 1:
                allowed = next(
                    (why for value in values if (why := facts.loss_allowance(key, value, offset)) is not None), None
                )
                calls = [call for found in values.values() for call in found]
                yield Found(name="inconsistent-offsets", values=list(values), allowed=allowed, calls=calls, key=key)
