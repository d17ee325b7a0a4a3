"""Tiny hand-written histories for the tests of the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.checks.analysis import Analysis, by_partition
from broker_scenarios.history import EventType, HistoryRecorder, LogRecord, TruncatedRecord, join_logs
from broker_sim.control.journal import EVENT_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_scenarios.findings import Finding
    from broker_scenarios.history import HistoryEvent
    from broker_sim.control.events import Event

TOPIC = "orders"


class Story:
    """A history, written send by send, and the logs at its end."""

    def __init__(self) -> None:
        self._recorder = HistoryRecorder("run-1")
        self._history: list[HistoryEvent] = []
        self._indices: dict[int, int] = {}
        self._sends: dict[int, list[tuple[int, int, int]]] = {}
        self._now_us = 0
        self._stored: list[LogRecord] = []
        self._truncated: list[TruncatedRecord] = []

    def send(self, *values: int, process: int = 1, partition: int = 0) -> Story:
        for value in values:
            index = self._indices[process] = self._indices.get(process, -1) + 1
            self._sends.setdefault(value, []).append((process, index, partition))
            self._record(EventType.INVOKE, value, process=process, index=index, partition=-1)
        return self

    def ok(self, value: int, offset: int = -1) -> Story:
        return self._complete(EventType.OK, value, offset=offset)

    def fail(self, value: int, error_code: int = 19, error: str = "NOT_ENOUGH_REPLICAS") -> Story:
        return self._complete(EventType.FAIL, value, error_code=error_code, error=error)

    def info(self, value: int, error_code: int = 7) -> Story:
        return self._complete(EventType.INFO, value, error_code=error_code, error="REQUEST_TIMED_OUT")

    def acked(self, *values: int, first_offset: int = 0, process: int = 1, partition: int = 0) -> Story:
        for offset, value in enumerate(values, first_offset):
            self.send(value, process=process, partition=partition).ok(value, offset)
        return self

    def log(self, *values: int, first_offset: int = 0, partition: int = 0) -> Story:
        for offset, value in enumerate(values, first_offset):
            self._stored.append(LogRecord(TOPIC, partition, offset, value))
        return self

    def truncated(self, *values: int, first_offset: int, broker: int = 1, epoch: int = 4) -> Story:
        for offset, value in enumerate(values, first_offset):
            self._truncated.append(TruncatedRecord(TOPIC, 0, offset, value, broker, epoch, self._now_us))
        return self

    def wait(self, *, us: int) -> Story:
        self._now_us += us
        return self

    @property
    def now_us(self) -> int:
        return self._now_us

    def history(self) -> list[HistoryEvent]:
        self._history += self._recorder.drain()
        return self._history

    def stored(self) -> list[LogRecord]:
        return self._stored

    def truncations(self) -> list[TruncatedRecord]:
        return self._truncated

    def logs(self) -> list[LogRecord]:
        return join_logs(self.stored(), self.truncations())

    def analysis(self, partition: int = 0) -> Analysis:
        events, records = by_partition(self.history(), self.logs()).get((TOPIC, partition), ([], []))
        return Analysis.of(TOPIC, partition, events, records)

    def _complete(self, event: EventType, value: int, **values: Any) -> Story:
        process, index, partition = self._sends[value][-1]
        self._record(event, value, process=process, index=index, partition=partition, **values)
        return self

    def _record(self, event: EventType, value: int, *, process: int, index: int, **values: Any) -> None:
        self._now_us += 1_000
        self._recorder.record(
            event,
            process=process,
            producer_id=process,
            index=index,
            time_us=self._now_us,
            topic=TOPIC,
            value_id=value,
            size_bytes=100,
            **values,
        )


_DEFAULTS: dict[str, dict[str, Any]] = {
    "IsrChanged": {"leader_epoch": 0, "partition_epoch": 0},
    "LeaderElected": {"unclean": False},
    "LogTruncated": {"records": 0, "high_watermark": 0, "reason": "divergence"},
    "ProduceCompleted": {
        "base_offset": 0, "required_offset": 0, "high_watermark": 0, "leader_epoch": 0, "isr": (), "acks": -1,
    },
    "RuleFired": {"phase": "before_parse", "api": "Fetch"},
}  # fmt: skip
_OF_NO_PARTITION = ("BrokerKilled", "BrokerStarted", "RuleFired")


def journal_event(kind: str, time_us: int, broker_id: int, **fields: Any) -> Event:
    """An event of the journal about orders-0, with defaults for the fields that no test needs."""
    place = {} if kind in _OF_NO_PARTITION else {"topic": TOPIC, "partition": 0}
    event: Event = EVENT_KINDS[kind](
        time_us=time_us, broker_id=broker_id, **{**_DEFAULTS.get(kind, {}), **place, **fields}
    )
    return event


@pytest.fixture
def journal_events() -> Callable[..., Event]:
    return journal_event


def values_found_by(check: Callable[[Analysis], Any], written: Story, partition: int = 0) -> list[int]:
    """The values of the findings of a check."""
    findings: list[Finding] = list(check(written.analysis(partition)))
    return [finding.value_id for finding in findings]


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def values_found() -> Callable[[Callable[[Analysis], Any], Story], Sequence[int]]:
    return values_found_by
