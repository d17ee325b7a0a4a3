"""Producers that a log forgets, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.housekeeping import until
from tests.differential.requests import FAR_FUTURE_MS, TIME_MS, fill, idempotent, produce, timed

if TYPE_CHECKING:
    from tests.differential.probe import Probe

EXPIRING = (
    ("producer.id.expiration.check.interval.ms", "50"),
    ("producer.id.expiration.ms", "100000"),
)
"""Who has not written for 100 s by the time of its records is forgotten, which is looked at all the time."""

ANY_TIME = {"message_timestamp_after_max_ms": str(2**63 - 1)}


def _await_producers(probe: Probe, topic: str, expected: list[int]) -> None:
    def known() -> list[int]:
        response: Any = probe.quiet(describe((topic, (0,))), 0)
        return sorted(each.producer_id for each in response.topics[0].partitions[0].active_producers)

    until(probe, f"{topic} knows the producers {expected}", lambda: known() == expected)


@case(settings=EXPIRING)
def idle_producers_are_forgotten(probe: Probe) -> None:
    topic = probe.topic(**ANY_TIME)
    fill(probe, topic, idempotent(11, 3, 0, time_ms=TIME_MS), idempotent(12, 3, 0, time_ms=FAR_FUTURE_MS))
    _await_producers(probe, topic, [12])
    probe.exchange(describe((topic, (0,))), 0)
    probe.exchange(produce(topic, idempotent(12, 3, 7, time_ms=FAR_FUTURE_MS)), 9, note="a gap of one that is known")
    probe.exchange(
        produce(topic, idempotent(11, 3, 7, time_ms=FAR_FUTURE_MS)), 9, note="a gap of one that is forgotten"
    )
    probe.exchange(produce(topic, idempotent(11, 3, 7, time_ms=FAR_FUTURE_MS)), 9, note="known again: a duplicate")
    probe.exchange(describe((topic, (0,))), 0)


@case(settings=EXPIRING)
def an_old_epoch_comes_back(probe: Probe) -> None:
    topic = probe.topic(**ANY_TIME)
    fill(probe, topic, idempotent(13, 9, 0, time_ms=TIME_MS))
    _await_producers(probe, topic, [])
    probe.exchange(produce(topic, idempotent(13, 2, 4, time_ms=FAR_FUTURE_MS)), 9)
    probe.exchange(describe((topic, (0,))), 0)


@case(settings=EXPIRING)
def the_newest_batch_counts_not_the_newest_time(probe: Probe) -> None:
    topic = probe.topic(**ANY_TIME)
    fill(probe, topic, idempotent(14, 0, 0, time_ms=FAR_FUTURE_MS), idempotent(14, 0, 1, time_ms=TIME_MS))
    _await_producers(probe, topic, [])


@case(settings=EXPIRING)
def records_without_a_producer_change_nothing(probe: Probe) -> None:
    topic = probe.topic(**ANY_TIME)
    fill(probe, topic, idempotent(15, 0, 0, time_ms=FAR_FUTURE_MS), timed(TIME_MS), timed(FAR_FUTURE_MS))
    probe.exchange(describe((topic, (0,))), 0)
