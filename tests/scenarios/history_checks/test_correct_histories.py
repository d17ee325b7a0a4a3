"""Histories of a small model of Kafka, drawn by Hypothesis: nothing that it does breaks a promise.

And the checker itself, weakened in one place: the cases of anomalies notice it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_scenarios.history import EventType
from broker_scenarios.history_checks import facts as facts_module
from broker_scenarios.history_checks.facts import Facts
from broker_scenarios.history_checks.per_partition import aborted_read
from tests.scenarios.history_checks import test_anomalies
from tests.scenarios.history_checks.histories import Written, found, judge

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ("t-0", "t-1", "u-0")


@dataclass
class Model:
    """Partitions, producers with and without transactions, and consumers that read what is committed."""

    random: Random
    history: Written = field(default_factory=Written)
    logs: dict[str, list[tuple[int, int, str]]] = field(default_factory=lambda: {key: [] for key in KEYS})
    positions: dict[int, dict[str, int]] = field(default_factory=dict)
    values: int = 0
    processes: int = 100

    def new_value(self) -> int:
        self.values += 1
        return self.values

    def append(self, key: str, value: int, state: str = "committed") -> int:
        log = self.logs[key]
        offset = log[-1][0] + self.random.choice((1, 1, 1, 2)) if log else 0
        log.append((offset, value, state))
        return offset

    def send(self) -> None:
        key, value, process = self.random.choice(KEYS), self.new_value(), self.random.randrange(3)
        ended = self.random.choice(("ok", "ok", "ok", "stored", "lost", "fail"))
        if ended in {"ok", "stored"}:
            offset = self.append(key, value)
        if ended == "ok":
            self.history.send(process, value, offset if self.random.random() < 0.8 else None, key=key)
        elif ended == "fail":
            self.history.send(process, value, kind="fail", key=key)
        else:
            # After an unknown outcome the process ends, and a fresh client replaces it.
            self.processes += 1
            self.history.send(self.processes, value, kind="info", key=key)

    def transaction(self) -> None:
        ended = self.random.choice(("committed", "committed", "aborted", "unknown-committed", "unknown-aborted"))
        sends = [(self.random.choice(KEYS), self.new_value()) for _ in range(self.random.randint(1, 4))]
        state = "committed" if ended.endswith("committed") else "aborted"
        placed = [(key, value, self.append(key, value, state)) for key, value in sends]
        invoked = [["send", key, value] for key, value in sends]
        result = [["send", key, [offset, value]] for key, value, offset in placed]
        kind = {"committed": "ok", "aborted": "fail"}.get(ended, "info")
        self.processes += 1
        self.history.txn(self.processes, invoked, result, kind=kind)

    def assign(self) -> None:
        process = self.random.randrange(10, 13)
        keys = self.random.sample(KEYS, self.random.randint(1, 3))
        before = self.positions.get(process, {})
        self.positions[process] = {key: before.get(key, 0) for key in keys}
        seek = {key: "beginning" for key in keys if self.random.random() < 0.3}
        self.positions[process].update(dict.fromkeys(seek, 0))
        self.history.assign(process, *keys, seek=seek)

    def poll(self) -> None:
        process = self.random.randrange(10, 13)
        own = self.positions.get(process, {})
        found: dict[str, list[list[int]]] = {}
        for key in own:
            pairs = self.readable(key, own[key])[: self.random.randint(0, 4)]
            found[key] = [list(pair) for pair in pairs]
            if pairs:
                own[key] = pairs[-1][0] + 1
        self.history.line(process, "invoke", "poll", [["poll"]])
        self.history.line(process, "ok", "poll", [["poll", found]])

    def readable(self, key: str, position: int) -> list[tuple[int, int]]:
        log = self.logs[key]
        return [(offset, value) for offset, value, state in log if offset >= position and state == "committed"]

    def finish(self) -> None:
        for key in KEYS:
            self.processes += 1
            self.history.final(self.processes, *self.readable(key, 0), key=key)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 60), with_logs=st.booleans())
def test_a_correct_history_is_valid(seed: int, steps: int, with_logs: bool) -> None:
    model = Model(Random(seed))
    for _ in range(steps):
        model.random.choice((model.send, model.send, model.transaction, model.assign, model.poll, model.poll))()
    model.finish()
    judgement = judge(model.history, {"isolation.level": "read_committed"}, model.logs if with_logs else None)
    assert found(judgement) == {}
    assert judgement.verdict == "valid", judgement.reasons


def no_final_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "final_keys", property(lambda _: set()))


def everything_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "is_committed", lambda *_: True)


def nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "proved", property(lambda _: set()))


def every_loss_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "loss_allowance", lambda *_: "mutated")


def no_loss_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "loss_allowance", lambda *_: None)


def places_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = Facts.first_place, Facts.last_place
    monkeypatch.setattr(Facts, "first_place", last)
    monkeypatch.setattr(Facts, "last_place", first)


def logs_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "has_log", lambda *_: False)


def unknown_offsets_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "UNKNOWN_OFFSET", 0)


MUTATIONS = (
    no_final_polls,
    everything_is_committed,
    nothing_is_proved,
    every_loss_is_permitted,
    no_loss_is_permitted,
    places_swapped,
    logs_are_ignored,
    unknown_offsets_count,
)


def failing_cases() -> list[str]:
    """The names of the cases that the checker, as it is now, does not pass."""
    permit = test_anomalies.test_what_the_promises_permit_does_not_break_a_history
    tests: list[tuple[str, Callable[[], Any]]] = [
        (case[0].__name__, partial(test_anomalies.test_an_anomaly_is_found_with_its_values, *case))
        for case in test_anomalies.CASES
    ]
    tests += [(f"{case[0].__name__} permitted", partial(permit, *case)) for case in test_anomalies.ALLOWED]
    tests += [
        (name, test)
        for name, test in vars(test_anomalies).items()
        if name.startswith("test_") and not hasattr(test, "pytestmark")
    ]
    tests += [("bounds", bounds_with_a_conflict), ("aborted", reads_pass_an_aborted_transaction)]
    failed: list[str] = []
    for name, test in tests:
        try:
            test()
        except (AssertionError, KeyError):
            failed.append(name)
    return failed


def bounds_with_a_conflict() -> None:
    """A value that is read at two places: what lies between them was not passed by every read."""
    history = Written()
    history.send(0, 1, 0)
    history.send(1, 2, 1)
    history.poll(5, (0, 1), (2, 1))
    history.poll(6, (0, 1), (2, 1))
    judgement = judge(history)
    assert "lost-write" not in found(judgement)


def reads_pass_an_aborted_transaction() -> None:
    """Aborted records are missing for a good reason."""
    history = Written()
    history.txn(0, [["send", "t-0", 1]], [["send", "t-0", [0, 1]]], kind="fail")
    history.send(1, 2, 2)
    history.final(9, (2, 2))
    assert found(judge(history)) == {}


def test_the_cases_hold() -> None:
    assert failing_cases() == []


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_weakened_check_is_noticed(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    assert failing_cases()


def test_an_unknown_outcome_taken_for_a_failure_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        FAIL = EventType.INFO

    history = Written()
    history.send(0, 1, kind="info")
    history.final(9, (0, 1))
    assert found(judge(history)) == {}
    monkeypatch.setattr(aborted_read, "EventType", Wrong)
    assert found(judge(history)) == {"G1a": [1]}
