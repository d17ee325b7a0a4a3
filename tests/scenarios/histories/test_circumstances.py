"""Promises files: JSON or YAML, and wrong ones refused by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.circumstances import Fault, circumstances_of, read_circumstances

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
promises:
  topics: {orders: 3}
  acks: 1
  enable.idempotence: false
  isolation.level: read_committed
  transaction.timeout.ms: 2000
  delivery.timeout.ms: "3000"
  cleanup.policy: compact,delete
  exactly-once: true
  max.realtime-lag.ms: 1.5
  liveness.deadline.ms: 4000
keys: {5: a}
log_start: {orders-0: 7}
faults: [{kind: leader-crash, key: orders-0, from_ms: 1, to_ms: 2}, {kind: partition}]
healthy: [orders-1]
"""


def test_a_yaml_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "promises.yaml"
    path.write_text(WHOLE)
    found = read_circumstances(path)
    promises = found.promises
    assert (promises.acks, promises.enable_idempotence, promises.read_committed, promises.exactly_once) == (
        1, False, True, True,
    )  # fmt: skip
    assert (found.partitions, found.compacted, found.message_keys) == ({"orders": 3}, True, {"5": "a"})
    assert (found.limits.transaction_timeout_us, found.delivery_timeout_us) == (2_000_000, 3_000_000)
    assert (found.limits.realtime_lag_us, found.limits.liveness_deadline_us) == (1500, 4_000_000)
    assert (found.log_start, found.limits.healthy) == ({"orders-0": 7}, ["orders-1"])
    assert found.faults[0] == Fault(kind="leader-crash", key="orders-0", from_us=1000, to_us=2000)
    assert (found.faults[1].key, found.limits.last_fault_us) == (None, 2000)


def test_kafkas_defaults_hold_without_a_promise() -> None:
    found = circumstances_of({})
    assert (found.promises.acks_name, found.promises.enable_idempotence, found.promises.read_committed) == (
        "all", True, False,
    )  # fmt: skip
    assert (found.partitions, found.delivery_timeout_us, found.limits.liveness_deadline_us) == (None, 120_000_000, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "'promises': expected a mapping"),
        ({"ackz": 1}, "'ackz' is no promise; did you mean 'acks'?"),
        ({"colour": 1}, "'colour' is no promise; there are topics, acks"),
        ({"acks": 3}, "acks='3': expected all"),
        ({"acks": [1]}, "'acks': expected a number, a text"),
        ({"retries": "many"}, "retries='many'"),
        ({"topics": []}, "'topics': expected a mapping"),
        ({"topics": {"orders": 0}}, "'topics': expected a whole number from 1"),
        ({"isolation.level": "dirty"}, "'isolation.level': expected one of read_committed, read_uncommitted"),
        ({"transaction.timeout.ms": "soon"}, "'transaction.timeout.ms': expected a whole number"),
        ({"cleanup.policy": "keep"}, "'cleanup.policy': expected delete or compact"),
        ({"exactly-once": 1}, "'exactly-once': expected true or false"),
        ({"enable.auto.commit": "maybe"}, "'enable.auto.commit': expected true or false"),
        ({"auto.offset.reset": "first"}, "'auto.offset.reset': expected one of earliest"),
        ({"replication.factor": 0}, "'replication.factor': expected a whole number from 1"),
        ({"keys": []}, "'keys': expected a mapping"),
        ({"log_start": {"orders": 1}}, "'log_start': 'orders' is not a partition"),
        ({"log_start": {"orders-0": -1}}, "'log_start': expected a whole number from 0"),
        ({"faults": {}}, "'faults': expected a list"),
        ({"faults": [{"kind": "fire"}]}, "'faults[0].kind': expected one of leader-crash"),
        ({"faults": [{"kind": "leader-mve"}]}, "not \"leader-mve\"; did you mean 'leader-move'?"),
        ({"faults": [{"kind": "partition"}, {}]}, "'faults[1].kind': expected one of leader-crash"),
        (
            {"faults": [{"kind": "partition", "keyy": 1}]},
            "'faults[0].keyy': expected kind, key, from_ms, to_ms; did you",
        ),
        ({"faults": [{"kind": "partition", "key": "x"}]}, "'faults[0].key': 'x' is not a partition"),
        ({"faults": [{"kind": "partition", "from_ms": -1}]}, "'faults[0].from_ms': expected a whole number from 0"),
        ({"healthy": "orders-0"}, "'healthy': expected a list"),
        ({"promises": 1}, "'promises': expected a mapping"),
    ],
)
def test_a_wrong_promise_is_refused_by_key(given: Any, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        circumstances_of(given)
    assert str(raised.value).startswith("promises: ")
    assert message in str(raised.value)


def test_a_configuration_of_milliseconds_may_have_a_fraction() -> None:
    assert circumstances_of({"transaction.timeout.ms": 1500.5}).limits.transaction_timeout_us == 1_500_500


@pytest.mark.parametrize(
    ("given", "millis"), [(0, 0), (0.0, 0), (1.5, 1.5), ("7", 7), ("9" * 19, int("9" * 19)), (2**62, 2**62)]
)
def test_a_duration_is_a_number_of_milliseconds(given: Any, millis: float) -> None:
    assert circumstances_of({"liveness.deadline.ms": given}).limits.liveness_deadline_us == millis * 1000


@pytest.mark.parametrize("given", ["9" * 20, 2.0**63, 1e300, float("inf"), -0.5, -1, True, "1.5"])
def test_a_number_that_is_no_duration_is_refused(given: Any) -> None:
    with pytest.raises(ScenarioError, match=r"'liveness\.deadline\.ms': expected a whole number from 0"):
        circumstances_of({"liveness.deadline.ms": given})


def test_the_last_fault_is_the_one_that_ends_last() -> None:
    faults = [{"kind": "partition", "to_ms": to_ms} for to_ms in (5, 9, 7)]
    assert circumstances_of({"faults": [*faults, {"kind": "leader-crash"}]}).limits.last_fault_us == 9_000
    assert circumstances_of({"faults": [{"kind": "leader-crash"}]}).limits.last_fault_us is None


@pytest.mark.parametrize(("given", "claimed"), [(True, True), ("true", True), (False, False), ("false", False)])
def test_a_claim_is_true_or_false(given: Any, claimed: bool) -> None:
    promises = circumstances_of({"exactly-once": given, "enable.idempotence": given, "acks": "all"}).promises
    assert (promises.exactly_once, promises.enable_idempotence) == (claimed, claimed)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("a: [")
    for name in ("wrong.yaml", "absent.yaml"):
        with pytest.raises(ScenarioError, match=name):
            read_circumstances(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("acks: all\ntopics: {orders: 1}\nacks: 1\n", r"promises\.yaml:3:1: acks: is a duplicate key"),
        ('{"acks": "all", "acks": 1}', r"promises\.yaml: 'acks' is there twice"),
        ("acks: [", r"promises\.yaml:1:8: no YAML: "),
        (
            "faults: [{kind: partition, from_ms: 5, to_ms: 2}]",
            r"promises\.yaml: 'faults\[0\]\.to_ms': expected no time before from_ms=5, not 2",
        ),
    ],
)
def test_a_mistake_in_a_file_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "promises.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=problem):
        read_circumstances(path)
