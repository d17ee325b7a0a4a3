"""Small histories of the neutral form, written by hand, and their verdicts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_scenarios import HistoryVerdict, check_history
from broker_scenarios.history import EventType
from broker_scenarios.operations import (
    Assign,
    Commit,
    Function,
    Mop,
    Op,
    Poll,
    PolledOffsets,
    Process,
    Seek,
    Send,
    Subscribe,
    Value,
)

X, Y = "x-0", "y-0"
PROMISES: dict[str, Any] = {
    "topics": {"x": 1, "y": 1},
    "acks": "all",
    "enable.idempotence": True,
    "min.insync.replicas": 2,
    "replication.factor": 3,
    "isolation.level": "read_committed",
    "delivery.timeout.ms": 1000,
    "transaction.timeout.ms": 1000,
}

Sent = tuple[str, Value] | tuple[str, Value, int]
Reads = dict[str, list[tuple[int, Value]]]


class Book:
    """A history, written call by call. Each line is a millisecond after the one before."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.now_ms = 0

    def line(self, process: Process, event: EventType, f: Function, *mops: Mop, **fields: Any) -> Book:
        self.now_ms += 1
        index = len(self.ops)
        self.ops.append(
            Op(index=index, process=process, type=event, f=f, time_ms=self.now_ms, mops=list(mops), **fields)
        )
        return self

    def wait(self, ms: int) -> Book:
        self.now_ms += ms
        return self

    def send(self, process: Process, *sent: Sent, end: str | None = "ok", **fields: Any) -> Book:
        """Send (key, value) or (key, value, offset) in one operation; without `end` it stays open."""
        self.line(process, EventType.INVOKE, Function.SEND, *(Send(key, value) for key, value, *_ in sent))
        if end is not None:
            self.line(process, EventType(end), Function.SEND, *(Send(*each) for each in sent), **fields)
        return self

    def poll(self, process: Process, *reads: Reads, end: str = "ok", **fields: Any) -> Book:
        self.line(process, EventType.INVOKE, Function.POLL, *(Poll() for _ in reads or ({},)))
        return self.line(process, EventType(end), Function.POLL, *map(Poll, reads or ({},)), **fields)

    def finally_poll(self, process: Process, reads: Reads, *keys: str) -> Book:
        return self.poll(process, reads, final=True, assigned=keys or tuple(reads))

    def txn(self, process: Process, *mops: Sent | Reads, end: str = "ok", **fields: Any) -> Book:
        """A transaction of sends (tuples) and polls (dictionaries), in order."""
        self.begin(process, *mops)
        return self.end(process, *mops, end=end, **fields)

    def begin(self, process: Process, *mops: Sent | Reads) -> Book:
        invoked = (Poll() if isinstance(mop, dict) else Send(mop[0], mop[1]) for mop in mops)
        return self.line(process, EventType.INVOKE, Function.TXN, *invoked)

    def end(self, process: Process, *mops: Sent | Reads, end: str = "ok", **fields: Any) -> Book:
        done = (Poll(mop) if isinstance(mop, dict) else Send(*mop) for mop in mops)
        return self.line(process, EventType(end), Function.TXN, *done, **fields)

    def assign(self, process: Process, *keys: str, seek: dict[str, int | str] | None = None, end: str = "ok") -> Book:
        return self.call(process, Function.ASSIGN, Assign(keys), *([Seek(seek)] if seek else []), end=end)

    def subscribe(self, process: Process, *topics: str, end: str = "ok", **fields: Any) -> Book:
        return self.call(process, Function.SUBSCRIBE, Subscribe(topics), end=end, **fields)

    def commit(self, process: Process, offsets: dict[str, int], **fields: Any) -> Book:
        return self.call(process, Function.COMMIT, Commit(offsets), **fields)

    def flush(self, process: Process) -> Book:
        return self.call(process, Function.FLUSH)

    def close(self, process: Process) -> Book:
        return self.call(process, Function.CLOSE)

    def crash(self, process: Process) -> Book:
        return self.call(process, Function.CRASH, end="info")

    def call(self, process: Process, f: Function, *mops: Mop, end: str = "ok", **fields: Any) -> Book:
        self.line(process, EventType.INVOKE, f, *mops, **fields)
        return self.line(process, EventType(end), f, *mops, **fields)

    def judge(self, logs: dict[str, Any] | None = None, /, **promises: Any) -> HistoryVerdict:
        given = {name.replace("_", "."): value for name, value in promises.items()}
        for name in ("exactly.once", "key.order", "max.realtime.lag.ms", "log.start"):
            if name in given:
                spelt = {"max.realtime.lag.ms": "max.realtime-lag.ms", "log.start": "log_start"}
                given[spelt.get(name, name.replace(".", "-"))] = given.pop(name)
        return without_crash(check_history(self.ops, {**PROMISES, **given}, logs))


def without_crash(verdict: HistoryVerdict) -> HistoryVerdict:
    """Return the verdict, to which every check has come."""
    assert not [reason for reason in verdict.unknown if "crashed" in reason], verdict.unknown
    return verdict


def offsets(stable: int, watermark: int, key: str = X) -> dict[str, PolledOffsets]:
    return {key: PolledOffsets(stable, watermark)}


def found(verdict: HistoryVerdict) -> dict[str, list[Value]]:
    """The values of all findings, by name."""
    return {name: verdict.values(name) for name in dict.fromkeys(each.name for each in verdict.findings)}


def counts(verdict: HistoryVerdict) -> dict[str, int]:
    return dict(Counter(each.name for each in verdict.findings))


def broken(verdict: HistoryVerdict) -> set[str]:
    """The names that break a promise."""
    return {each.name for each in verdict.findings if each.allowed is None}
