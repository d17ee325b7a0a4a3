"""Tiny hand-written histories for the tests of the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from broker_scenarios.checks.analysis import Analysis, assign_partitions
from broker_scenarios.history import (
    HISTORY_SCHEMA,
    STORED_SCHEMA,
    TRUNCATED_SCHEMA,
    EventType,
    HistoryRecorder,
    join_logs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_scenarios.findings import Finding

TOPIC = "orders"


class Story:
    """A history, told send by send, and the logs that it left behind."""

    def __init__(self) -> None:
        self._recorder = HistoryRecorder("run-1")
        self._told = HISTORY_SCHEMA.empty_table()
        self._indices: dict[int, int] = {}
        self._sends: dict[int, list[tuple[int, int, int]]] = {}
        self._now_us = 0
        self._stored: list[dict[str, Any]] = []
        self._truncated: list[dict[str, Any]] = []

    def send(self, *values: int, process: int = 1, partition: int = 0) -> Story:
        for value in values:
            index = self._indices[process] = self._indices.get(process, -1) + 1
            self._sends.setdefault(value, []).append((process, index, partition))
            self._record(EventType.INVOKE, value, process=process, index=index, partition=-1)
        return self

    def ok(self, value: int, offset: int = -1) -> Story:
        return self._complete(EventType.OK, value, offset=offset)

    def fail(self, value: int, error_code: int = 19) -> Story:
        return self._complete(EventType.FAIL, value, error_code=error_code, error="NOT_ENOUGH_REPLICAS")

    def info(self, value: int, error_code: int = 7) -> Story:
        return self._complete(EventType.INFO, value, error_code=error_code, error="REQUEST_TIMED_OUT")

    def acked(self, *values: int, first_offset: int = 0, process: int = 1, partition: int = 0) -> Story:
        for offset, value in enumerate(values, first_offset):
            self.send(value, process=process, partition=partition).ok(value, offset)
        return self

    def log(self, *values: int, first_offset: int = 0, partition: int = 0) -> Story:
        for offset, value in enumerate(values, first_offset):
            self._stored.append(
                {"topic": TOPIC, "partition": partition, "offset": offset, "value_id": value, "leader_epoch": 1,
                 "broker": 2, "batch_base_offset": offset}
            )  # fmt: skip
        return self

    def truncated(self, *values: int, first_offset: int, broker: int = 1, epoch: int = 4) -> Story:
        for offset, value in enumerate(values, first_offset):
            self._truncated.append(
                {"topic": TOPIC, "partition": 0, "offset": offset, "value_id": value, "broker": broker,
                 "leader_epoch": epoch, "time_us": self._now_us}
            )  # fmt: skip
        return self

    @property
    def now_us(self) -> int:
        return self._now_us

    def history(self) -> pa.Table:
        self._told = pa.concat_tables([self._told, self._recorder.table()])
        return self._told

    def stored(self) -> pa.Table:
        return pa.Table.from_pylist(self._stored, schema=STORED_SCHEMA)

    def truncations(self) -> pa.Table:
        return pa.Table.from_pylist(self._truncated, schema=TRUNCATED_SCHEMA)

    def logs(self) -> pa.Table:
        return join_logs(self.stored(), self.truncations())

    def analysis(self, partition: int = 0) -> Analysis:
        logs = self.logs()
        history = assign_partitions(self.history(), logs)
        mine, held = (rows.filter(pc.equal(rows.column("partition"), partition)) for rows in (history, logs))
        return Analysis.of(TOPIC, partition, mine, held)

    def _complete(self, event: EventType, value: int, **told: Any) -> Story:
        process, index, partition = self._sends[value][-1]
        self._record(event, value, process=process, index=index, partition=partition, **told)
        return self

    def _record(self, event: EventType, value: int, *, process: int, index: int, **told: Any) -> None:
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
            **told,
        )


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def values_found() -> Callable[[Callable[[Analysis], Any], Story], Sequence[int]]:
    def run(check: Callable[[Analysis], Any], told: Story, partition: int = 0) -> list[int]:
        findings: list[Finding] = list(check(told.analysis(partition)))
        return [finding.value_id for finding in findings]

    return run
