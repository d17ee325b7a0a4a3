"""failed-but-stored: every send of a value certainly failed, and the known log has committed it.

recovered: the outcome is not known to the client, and the value is stored: information, a time-out is not a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

RECOVERED: Final = "information: an outcome that the client does not know may be stored"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value."""
    for value, writes in facts.writes_of.items():
        outcomes = {write.call.outcome for write in writes}
        key = writes[-1].key
        calls = [write.call for write in writes]
        is_stored = value in facts.committed_in.get(key, {})
        if outcomes == {EventType.FAIL} and is_stored:
            yield Found(name="failed-but-stored", values=[value], calls=calls, key=key)
        elif EventType.OK not in outcomes and EventType.INFO in outcomes and (is_stored or facts.is_read(key, value)):
            yield Found(name="recovered", values=[value], allowed=RECOVERED, calls=calls, key=key)
