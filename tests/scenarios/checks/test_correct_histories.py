"""Histories of a model of Kafka: what it does breaks no promise, and each anomaly planted in one is found exactly."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_scenarios import HistoryVerdict, check_history
from broker_scenarios.operations import read_operations, write_operations
from broker_scenarios.verdict import Validity
from tests.scenarios.checks.model import KEYS, Model
from tests.scenarios.checks.neutral_histories import broken, counts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEEDS = st.integers(0, 2**32)


def judge(model: Model, *, with_logs: bool = True) -> HistoryVerdict:
    return check_history(model.book.ops, model.promises(), model.written_logs() if with_logs else None)


@settings(max_examples=200, deadline=None)
@given(
    seed=SEEDS,
    steps=st.integers(1, 60),
    with_logs=st.booleans(),
    idempotent=st.booleans(),
    acks=st.sampled_from([1, "all"]),
    read_committed=st.booleans(),
)
def test_a_correct_history_is_valid(
    seed: int, steps: int, with_logs: bool, idempotent: bool, acks: int | str, read_committed: bool
) -> None:
    model = Model(Random(seed), idempotent=idempotent, acks=acks, read_committed=read_committed).run(steps)
    verdict = judge(model, with_logs=with_logs)
    wrong = [each for each in verdict.findings if each.allowed is None]
    assert (wrong, verdict.unknown, verdict.validity) == ([], (), Validity.VALID)


def correct(seed: int) -> Model:
    """A history to plant anomalies in: nothing is lost or doubled with permission."""
    model = Model(Random(seed))
    for step in (model.send, model.transaction, model.assign, model.poll, model.send, model.transaction, model.send):
        for _ in range(4):
            step()
    return model


def stored(model: Model, key: str) -> None:
    """A record before the anomaly: the final polls skip what is lost only after they have read something."""
    value = model.new_value()
    model.book.send(2, (key, value, model.append(key, value)))


def lost(model: Model, key: str) -> dict[str, list[Any]]:
    stored(model, key)
    value = model.new_value()
    model.book.send(1, (key, value, model.append(key, value)))
    model.logs[key].pop()
    other = model.new_value()
    model.append(key, None)
    model.book.send(2, (key, other, model.append(key, other)))
    return {"lost-write": [value], "unseen": [value], "int-poll-skip": [value]}


def lost_without_offset(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    model.book.send(1, (key, value))
    return {"set-loss": [value], "unseen": [value]}


def doubled(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    model.append(key, value)
    model.book.send(1, (key, value, model.append(key, value)))
    return {"duplicate": [value]}


def failed_and_stored(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    model.append(key, value)
    model.book.send(1, (key, value), end="fail")
    return {"failed-but-stored": [value], "G1a": [value]}


def invented(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    model.append(key, value)
    return {"misdelivered": [value]}


def torn(model: Model, key: str) -> dict[str, list[Any]]:
    first, second = model.new_value(), model.new_value()
    other = next(each for each in KEYS if each != key)
    stored(model, other)
    sends = (key, first, model.append(key, first)), (other, second, model.append(other, second, "aborted"))
    model.book.txn(model.fresh_process(), *sends)
    model.book.send(1, (other, last := model.new_value(), model.append(other, last)))
    return {"torn-txn": [second], "lost-write": [second], "unseen": [second], "int-poll-skip": [second]}


def wrong_acknowledgement(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    offset = model.append(key, value)
    model.append(key, None)
    model.append(key, None)
    model.book.send(1, (key, value, offset + 2))
    return {"offset-oracle": [value], "duplicate": [value]}


def skipped(model: Model, key: str) -> dict[str, list[Any]]:
    values = [model.new_value() for _ in range(3)]
    placed = [(key, value, model.append(key, value)) for value in values]
    model.book.send(1, *placed).assign(90, key)
    for _, value, offset in (placed[0], placed[2]):
        model.book.poll(90, {key: [(offset, value)]})
    return {"poll-skip": [values[1]]}


def read_again(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    offset = model.append(key, value)
    model.book.send(1, (key, value, offset)).assign(90, key)
    for _ in range(2):
        model.book.poll(90, {key: [(offset, value)]})
    return {"nonmonotonic-poll": []}


def reordered(model: Model, key: str) -> dict[str, list[Any]]:
    first, second = model.new_value(), model.new_value()
    at = model.append(key, second)
    model.book.send(1, (key, first, model.append(key, first))).send(1, (key, second, at))
    return {"nonmonotonic-send": []}


def unreported(model: Model, key: str) -> dict[str, list[Any]]:
    value = model.new_value()
    model.book.send(91, (key, value), end=None).wait(130_000)
    return {"unresolved": [value]}


PLANTS: list[Callable[[Model, str], dict[str, list[Any]]]] = [
    lost, lost_without_offset, doubled, failed_and_stored, invented, torn, wrong_acknowledgement, skipped, read_again,
    reordered, unreported,
]  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, key=st.sampled_from(KEYS))
def test_a_planted_anomaly_is_found_with_its_values(
    plant: Callable[[Model, str], dict[str, list[Any]]], seed: int, key: str
) -> None:
    model = correct(seed)
    expected = plant(model, key)
    model.send()
    model.finish()
    verdict = judge(model)
    assert broken(verdict) == expected.keys()
    wrong = {name: [each for each in verdict.found(name) if each.allowed is None] for name in expected}
    assert {name: [value for each in some for value in each.values] for name, some in wrong.items()} == expected


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, steps=st.integers(1, 60))
def test_a_history_has_one_verdict_in_memory_and_in_a_file(
    seed: int, steps: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = Model(Random(seed), idempotent=False, acks=1).run(steps)
    path: Path = tmp_path_factory.mktemp("history") / "history.jsonl"
    write_operations(path, model.book.ops)
    assert list(read_operations(path)) == model.book.ops
    from_file = check_history(path, model.promises(), model.written_logs())
    assert from_file == judge(model)
    assert counts(from_file) == counts(judge(model))
