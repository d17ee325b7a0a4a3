"""int-send-skip and int-nonmonotonic-send: the sends of one operation have gaps, or are not in their order."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Value

SKIP = "Kafka gives no write isolation: records of others lie between those of one operation"
REORDERED = "enable.idempotence=false with retries and several requests in flight: a retry may be appended later"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each pair of neighbours."""
    sent: dict[tuple[int, str], tuple[Call, list[Value]]] = {}
    for write in facts.writes:
        sent.setdefault((id(write.call), write.key), (write.call, []))[1].append(write.value)
    for (_, key), (call, values) in sent.items():
        for before, after in pairwise(values):
            distance = facts.distance(key, before, after)
            if distance > 1:
                between = facts.between(key, before, after)
                yield Found(name="int-send-skip", values=between, allowed=SKIP, calls=[call], key=key)
            elif distance < 1:
                allowed = REORDERED if may_reorder(facts) else None
                yield Found(name="int-nonmonotonic-send", allowed=allowed, calls=[call], key=key)


def may_reorder(facts: Facts) -> bool:
    """Return True if the configuration lets a retry be appended behind a later batch."""
    promises = facts.claims.promises
    return not promises.enable_idempotence and promises.retries > 0 and promises.max_in_flight > 1
