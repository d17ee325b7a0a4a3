"""Measures of time: how long sends take, and how long a partition serves nothing (latency, res-send-latency)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure
from broker_sim.control.events import ProduceCompleted
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]

_KEYS: Final = ("client", "topic", "partition", "from_ms")


def _longest_ack_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    times = [send.completed_us - send.invoked_us for send in facts.sends_of(select) if send.is_ok]
    return max(times, default=0) / 1000


def _longest_send_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    ends = ((send.completed_us if send.completed_us >= 0 else facts.end_us, send) for send in facts.sends_of(select))
    return max((end - send.invoked_us for end, send in ends), default=0) / 1000


def _first_ack_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    acked = [send.completed_us for send in facts.sends_of(select) if send.is_ok]
    return (min(acked, default=facts.end_us) - facts.begin_us) / 1000


def _longest_pause_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    """The longest time in which sends waited and none was acknowledged."""
    sends = list(facts.sends_of(select))
    moments = sorted({send.completed_us for send in sends if send.is_ok})
    longest, last = 0, min((send.invoked_us for send in sends), default=0)
    for moment in [*moments, max((send.invoked_us for send in sends), default=0)]:
        longest, last = max(longest, moment - last), max(last, moment)
    return longest / 1000


def _recovery_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    """The time from the first refusal because of a moved leader to the next acknowledgement."""
    first: int | None = None
    for event in facts.journal:
        if (
            type(event) is ProduceCompleted
            and ("topic" not in select or event.topic == select["topic"])
            and ("partition" not in select or event.partition == select["partition"])
        ):
            if event.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and first is None:
                first = event.time_us
            elif event.error_code == ErrorCode.NONE and first is not None:
                return (event.time_us - first) / 1000
    return 0 if first is None else (facts.end_us - first) / 1000


def _longest_read_lag_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    lags = (
        lag_us
        for client, key, lag_us in facts.read_lags()
        if ("client" not in select or fnmatchcase(client, select["client"]))
        and ("topic" not in select or key.rpartition("-")[0] == select["topic"])
        and ("partition" not in select or int(key.rpartition("-")[2]) == select["partition"])
    )
    return max(lags, default=0) / 1000


MEASURES: Final = (
    Measure(
        name="longest_ack_ms",
        meaning="the longest time from a send to its acknowledgement, in milliseconds",
        keys=_KEYS,
        of=_longest_ack_ms,
    ),
    Measure(
        name="longest_send_ms",
        meaning="the longest time from a send to its outcome, or to the end of the run, in milliseconds",
        keys=_KEYS,
        of=_longest_send_ms,
    ),
    Measure(
        name="first_ack_ms",
        meaning="the time of the first acknowledgement, in milliseconds of the run",
        keys=_KEYS,
        of=_first_ack_ms,
    ),
    Measure(
        name="longest_pause_ms",
        meaning="the longest time between two acknowledgements, in milliseconds",
        keys=_KEYS,
        of=_longest_pause_ms,
    ),
    Measure(
        name="recovery_ms",
        meaning="the time from the first refusal by a former leader to the next acknowledgement, in milliseconds",
        keys=("topic", "partition"),
        of=_recovery_ms,
    ),
    Measure(
        name="longest_read_lag_ms",
        meaning="how far a poll was behind what was known to be in its partition, in milliseconds",
        keys=("client", "topic", "partition"),
        of=_longest_read_lag_ms,
    ),
)
