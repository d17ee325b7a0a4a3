"""offset-oracle: an acknowledgement names an offset at which the known log does not hold the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value that is in the log elsewhere alone."""
    for write in facts.writes:
        if write.offset < 0 or not write.call.is_ok or not facts.has_log(write.key):
            continue
        offsets = facts.committed_in[write.key].get(write.value)
        if offsets is not None and write.offset not in offsets:
            yield Found(name="offset-oracle", values=[write.value], calls=[write.call], key=write.key)
