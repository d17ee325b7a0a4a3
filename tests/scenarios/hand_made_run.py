"""The evidence of a run, written send by send and call by call, and its judgement."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from broker_scenarios.evidence import Evidence, judged
from broker_scenarios.history import EventType, HistoryRecorder, LogRecord
from broker_scenarios.playing.run_history import RunHistory
from broker_scenarios.truth import Truth
from tests.scenarios.playing.runs import scenario_of

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.operations import Function
    from broker_scenarios.run_record import RunRecord

RUN = """
title: t
release: 'RELEASE'
cluster: {brokers: 1}
topics:
  orders: {partitions: 2, replication_factor: 1, config: {CONFIG}}
  other: {partitions: 2, replication_factor: 1}
clients:
  app: {producer: {acks: all, CLIENT}, script: [{send: 1}, close]}
  reader: {consumer: {isolation.level: read_committed}, script: [{assign: {orders: all}}, {poll: 1}, close]}
CLAIMS
expect: {EXPECT}
"""


@cache
def scenario(expect: str, config: str, client: str, claims: str, release: str) -> Scenario:
    text = RUN.replace("EXPECT", expect).replace("CONFIG", config).replace("CLAIMS", claims)
    with TemporaryDirectory() as folder:
        return scenario_of(Path(folder), text.replace("RELEASE", release).replace("CLIENT", client))


class Run:
    """The evidence of a run; process 0 is the producer, process 1 the consumer."""

    def __init__(
        self,
        expect: str = "verdict: any",
        config: str = "",
        client: str = "linger.ms: 0",
        claims: str = "",
        release: str = "4.3.1",
    ) -> None:
        self.scenario = scenario(expect, config, client, claims, release)
        self.recorder = HistoryRecorder("")
        self.operations = RunHistory("", lambda: 0)
        self.stored: list[LogRecord] = []
        self.sent = 0

    def send(
        self,
        offset: int = 0,
        *,
        key: bytes | None = None,
        topic: str = "orders",
        partition: int = 0,
        at: int | None = None,
        outcome: EventType = EventType.OK,
    ) -> Run:
        """A record that is acknowledged at an offset, and stored at another or nowhere."""
        given: dict[str, Any] = {
            "process": 0, "producer_id": 1, "index": self.sent, "topic": topic, "value_id": self.sent, "size_bytes": 1,
            "key": key,
        }  # fmt: skip
        now_us = 10 * self.sent
        self.recorder.record(EventType.INVOKE, time_us=now_us, **given)
        self.recorder.record(outcome, time_us=now_us + 5, partition=partition, offset=offset, **given)
        if at is not None:
            self.stored.append(LogRecord(topic, partition, at, self.sent))
        self.sent += 1
        return self

    def call(self, f: Function, outcome: EventType | None, *mops: list[Any], error: BaseException | None = None) -> Run:
        operation = self.operations.invoke(1, f.value, list(mops))
        if outcome is not None:
            self.operations.complete(operation, outcome, error=error)
        return self

    def evidence(self, *journal: Any, **changes: Any) -> Evidence:
        starts = {(topic, partition): 0 for topic in ("orders", "other") for partition in (0, 1)}
        truth = Truth(stored=self.stored, truncated=[], journal=journal, log_starts=starts)
        app, reader = self.scenario.clients
        made = Evidence(
            scenario=self.scenario, seed=1, history=self.recorder.drain(), truth=truth, rules=(), facts={},
            operations=self.operations, groups={0: app, 1: reader}, client_ids={0: "app", 1: "reader"},
        )  # fmt: skip
        return replace(made, **changes)

    def judged(self, *journal: Any, **changes: Any) -> RunRecord:
        run = judged(self.evidence(*journal, **changes), engine=None)
        assert run.verdict.crashes == []
        return run
