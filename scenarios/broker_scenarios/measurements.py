"""Latency, errors and pauses of a run: the figures beside the verdict."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Outcome
from broker_scenarios.text_forms import clock
from protocol_specs.error_codes import ErrorCode
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_scenarios.findings import RecordResult
    from broker_scenarios.journal_view import JournalView
    from broker_sim.quotas.quota_managers import Throttles

__all__ = ["ErrorGroup", "Latency", "Measurements", "Pause", "Refusal", "measure"]

NO_THROTTLES: Final[Mapping[str, Throttles]] = MappingProxyType({})
PAUSE_MIN_US: Final = 1_000_000
"""The shortest time without acknowledgements that is reported, in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """The time from the send to its acknowledgement, in milliseconds."""

    p50_ms: float
    p99_ms: float
    max_ms: float

    def __str__(self) -> str:
        return f"p50 {self.p50_ms:,.1f} ms, p99 {self.p99_ms:,.1f} ms, max {self.max_ms:,.1f} ms"


@dataclass(slots=True, kw_only=True)
class ErrorGroup:
    """The records of one partition that ended with one error of their client; `example` is the first error's text."""

    topic: str
    partition: int
    outcome: Outcome
    name: str
    example: str
    first_us: int
    last_us: int
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The Produce responses for one partition with one error: retries included, unlike the errors of records."""

    topic: str
    partition: int
    name: str
    batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The longest time in which records of a partition waited and none was acknowledged."""

    topic: str
    partition: int
    start_us: int
    end_us: int

    @property
    def duration_us(self) -> int:
        """The length of the pause."""
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """All figures of a run."""

    latency: Latency | None = None
    errors: Sequence[ErrorGroup] = ()
    """By count, the most frequent error first."""
    refusals: Sequence[Refusal] = ()
    """By the number of batches, the most frequent error first."""
    pauses: Sequence[Pause] = field(default=())
    """The longest pause of each partition, if it is at least PAUSE_MIN_US; the longest first."""
    throttles: Mapping[str, Throttles] = field(default_factory=dict)
    """The requests that exceeded a quota, by client.id."""

    def refused(self, name: str) -> int:
        """Return the number of batches that brokers refused with this error."""
        return sum(each.batches for each in self.refusals if each.name == name)

    def throttled(self) -> list[str]:
        """Return one line per client that quotas made wait."""
        return [
            f"client {client!r} was throttled: {plural(each.requests, 'request')} over a quota, "
            f"{clock(each.total_ms * 1000)} of throttle time"
            for client, each in self.throttles.items()
        ]


def measure(
    records: Sequence[RecordResult],
    journal: JournalView,
    *,
    end_us: int,
    throttles: Mapping[str, Throttles] = NO_THROTTLES,
) -> Measurements:
    """Return the figures of a judged run that ended at `end_us`."""
    return Measurements(
        latency=_latency(records),
        errors=_errors(records),
        refusals=_refusals(journal),
        pauses=_pauses(records, end_us),
        throttles=throttles,
    )


def _latency(records: Iterable[RecordResult]) -> Latency | None:
    times_us = sorted(
        (each.complete_us - each.invoke_us, each.count) for each in records if each.outcome is Outcome.ACKED
    )
    if not times_us:
        return None
    ends = list(accumulate(count for _, count in times_us))
    total = ends[-1]
    places = (min(total - 1, total * percent // 100) for percent in (50, 99, 100))
    p50, p99, highest = (times_us[bisect_right(ends, place)][0] / 1_000 for place in places)
    return Latency(p50_ms=p50, p99_ms=p99, max_ms=highest)


def _errors(records: Iterable[RecordResult]) -> list[ErrorGroup]:
    groups: dict[tuple[str, int, Outcome, str], ErrorGroup] = {}
    for record in records:
        if record.error is None:
            continue
        name = _name_of(record.error_code, record.error)
        key = record.topic, record.partition, record.outcome, name
        group = groups.get(key)
        if group is None:
            group = groups[key] = ErrorGroup(
                topic=record.topic,
                partition=record.partition,
                outcome=record.outcome,
                name=name,
                example=record.error,
                first_us=record.complete_us,
                last_us=record.complete_us,
            )
        if record.complete_us < group.first_us:
            group.first_us, group.example = record.complete_us, record.error
        group.last_us = max(group.last_us, record.complete_us)
        group.count += record.count
    return sorted(groups.values(), key=lambda each: (-each.count, each.topic, each.partition, each.name))


def _refusals(journal: JournalView) -> list[Refusal]:
    refusals = [
        Refusal(topic=topic, partition=partition, name=_name(code), batches=batches)
        for (topic, partition), events in journal.partitions.items()
        for code, batches in events.refusals.items()
    ]
    return sorted(refusals, key=lambda each: (-each.batches, each.topic, each.partition, each.name))


def _pauses(records: Iterable[RecordResult], end_us: int) -> list[Pause]:
    by_partition: dict[tuple[str, int], list[RecordResult]] = {}
    for record in records:
        by_partition.setdefault((record.topic, record.partition), []).append(record)
    pauses = [_longest_pause(*name, mine, end_us) for name, mine in by_partition.items()]
    long = [each for each in pauses if each.duration_us >= PAUSE_MIN_US]
    return sorted(long, key=lambda each: (-each.duration_us, each.topic, each.partition))


def _longest_pause(topic: str, partition: int, records: Iterable[RecordResult], end_us: int) -> Pause:
    """Return the longest time in which records waited and none was acknowledged: an idle partition has no pause."""
    ends = sorted(
        (each.complete_us if each.complete_us >= 0 else end_us, each.invoke_us, each.outcome is Outcome.ACKED)
        for each in records
    )
    oldest_waiting = list(accumulate((invoke_us for _, invoke_us, _ in reversed(ends)), min))[::-1]
    longest = start_us = last_ack_us = 0
    waiting_from = 0
    for place, (at_us, _, acked) in enumerate(ends):
        if not acked and place < len(ends) - 1:
            continue
        begin = max(last_ack_us, oldest_waiting[waiting_from])
        if at_us - begin > longest:
            longest, start_us = at_us - begin, begin
        last_ack_us, waiting_from = at_us, place + 1
    return Pause(topic=topic, partition=partition, start_us=start_us, end_us=start_us + longest)


def _name(error_code: int) -> str:
    return ErrorCode.for_code(error_code).name


def _name_of(error_code: int, error: str) -> str:
    """The name of the error of a send: the class of an error of the client itself, which has no code of a broker."""
    kind, separator, _ = error.partition(":")
    is_own = error_code == ErrorCode.UNKNOWN_SERVER_ERROR and separator and kind != "BrokerError"
    return kind if is_own else _name(error_code)
