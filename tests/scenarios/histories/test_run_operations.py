"""The operations of a hand-made run, and what they add to its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.histories.run_operations import circumstances_of_run, operations_of, whole_history
from broker_scenarios.histories.run_verdict import _follows
from broker_scenarios.history import EventType
from broker_scenarios.operations import Function, Poll, Send
from broker_sim.control.events import HighWatermarkAdvanced
from tests.scenarios.hand_made_run import Run

OK = EventType.OK
READ = ["poll", {"orders-0": [[0, 0]]}]


def test_the_sends_of_a_transaction_are_no_sends_beside_it() -> None:
    made = Run().send(at=0).send(1, at=1).call(Function.TXN, OK, ["send", "orders-0", 1]).call(Function.POLL, OK, READ)
    evidence = made.evidence()
    assert evidence.operations is not None
    assert isinstance(evidence.history, list)
    found = operations_of(evidence.operations, evidence.history, evidence.truth)
    assert [(op.f, op.type) for op in found if op.f is not Function.POLL] == [
        (Function.SEND, EventType.INVOKE),
        (Function.TXN, EventType.INVOKE),
        (Function.TXN, OK),
        (Function.SEND, OK),
    ]


def test_what_a_poll_names_is_no_send_of_a_transaction() -> None:
    made = Run().send(at=0).call(Function.TXN, OK, ["poll", {}, 0])
    evidence = made.evidence()
    assert evidence.operations is not None
    assert isinstance(evidence.history, list)
    found = operations_of(evidence.operations, evidence.history, evidence.truth)
    assert [op.f for op in found].count(Function.SEND) == 2


def test_the_circumstances_are_those_of_the_file() -> None:
    claims = "claims: {liveness.deadline.ms: 7, exactly-once: true}"
    found = circumstances_of_run(Run(claims=claims, config="cleanup.policy: compact").send(at=0).evidence())
    assert found.limits.liveness_deadline_us is None, "the journal knows the faults"
    assert (found.promises.exactly_once, found.promises.read_committed, found.compacted) == (True, True, True)
    assert found.limits.transaction_timeout_us == 60_000_000
    timeout = "transactional.id: t, transaction.timeout.ms: 900"
    other = circumstances_of_run(Run(client=timeout).send(at=0, key=b"k").evidence())
    assert (other.compacted, other.promises.exactly_once, other.message_keys) == (False, False, {"0": "k"})
    assert other.limits.transaction_timeout_us == 900_000


def test_the_times_of_operations_count_from_the_first_and_offsets_are_those_of_completions() -> None:
    made = Run().send(at=0).send(1, at=1).call(Function.TXN, OK, ["send", "orders-None", 1], ["poll"])
    [operation] = made.operations.operations
    operation.invoked_us, operation.completed_us = 2_000, 5_000
    operation.results = [["send", "orders-None", [1, 1]], ["poll"]]
    evidence = made.evidence()
    assert isinstance(evidence.history, list)
    found = operations_of(
        made.operations, [replace(each, time_us=each.time_us + 1_000) for each in evidence.history], evidence.truth
    )
    assert [(op.f.value, op.time_ms) for op in found] == [("send", 0), ("send", 0.005), ("txn", 1), ("txn", 4)]
    assert [op.mops for op in found[2:]] == [
        [Send("orders-0", 1, -1), Poll(None)],
        [Send("orders-0", 1, 1), Poll({})],
    ]


def test_a_run_with_one_poll_among_other_calls_is_judged_as_a_history() -> None:
    made = Run().send(1, at=1).send(0, at=0).call(Function.COMMIT, OK).call(Function.POLL, OK)
    assert made.judged().verdict.found("G0-process") == 1


def test_stable_offsets_are_those_of_the_clients_partitions() -> None:
    events = [
        HighWatermarkAdvanced(
            time_us=9, broker_id=1, topic=topic, partition=0, high_watermark=2, leader_epoch=0, last_stable_offset=1
        )
        for topic in ("orders", "__consumer_offsets")
    ]
    evidence = Run().send(at=0).evidence(*events)
    whole = whole_history(evidence, circumstances_of_run(evidence))
    assert [tuple(each) for each in whole.stable_offsets] == [("orders-0", 9, 1, 2)]


@pytest.mark.parametrize(("f", "judged"), [(Function.POLL, 1), (Function.TXN, 1), (Function.COMMIT, 0)])
def test_a_run_is_judged_as_a_history_where_a_client_polled_or_used_transactions(f: Function, judged: int) -> None:
    made = Run().send(1, at=1).send(0, at=0).call(f, OK)
    assert made.judged().verdict.found("G0-process") == judged


@pytest.mark.parametrize("polls", [False, True])
def test_a_conflict_of_offsets_is_found_once(polls: bool) -> None:
    made = Run().send(0).send(0, at=0).send(1, at=1)
    if polls:
        made.call(Function.POLL, OK, ["poll", {"orders-0": [[0, 1], [1, 2]]}])
    assert made.judged().verdict.found("inconsistent-offsets") == 1


def test_a_conflict_that_only_polls_show_is_found() -> None:
    made = Run().send(0, at=0).call(Function.POLL, OK, ["poll", {"orders-0": [[0, 7]]}])
    assert made.judged().verdict.found("inconsistent-offsets") == 1


@pytest.mark.parametrize(
    ("kind", "values", "permitted", "stored", "reason"),
    [
        (FindingKind.UNSEEN, (1,), {1: "why"}, (), "why"),
        (FindingKind.UNSEEN, (1, 2), {1: "why"}, (), None),
        (FindingKind.UNSEEN, (1, 2), {1: "why", 2: "so"}, (), "why"),
        (FindingKind.UNSEEN, (1, 2), {1: "why"}, (2,), None),
        (FindingKind.UNSEEN, (), {1: "why"}, (), None),
        (FindingKind.INCONSISTENT_OFFSETS, (1, 2), {1: "why"}, (2,), "why"),
        (FindingKind.INCONSISTENT_OFFSETS, (1, 2), {1: "why"}, (), None),
        (FindingKind.INCONSISTENT_OFFSETS, (1, 2), {1: "why"}, (1, 2), None),
    ],
)
def test_a_finding_follows_from_permitted_losses(
    kind: FindingKind, values: tuple[int, ...], permitted: dict[Any, str], stored: tuple[int, ...], reason: str | None
) -> None:
    finding = Finding(kind=kind, topic="t", partition=0, value_id=1, detail="", values=values)
    assert _follows(finding, permitted, set(stored)) == reason
