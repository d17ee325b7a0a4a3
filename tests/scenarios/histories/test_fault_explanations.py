from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from broker_scenarios.checks.analysis import Analysis
from broker_scenarios.checks.calls import Call, Send
from broker_scenarios.findings import Cause, Finding, FindingKind, Outcome
from broker_scenarios.histories.circumstances import Fault
from broker_scenarios.histories.fault_explanations import FaultExplainer
from broker_scenarios.operations import Function
from broker_scenarios.promises import Promises

CRASH = Fault(kind="leader-crash", key=None, from_us=0, to_us=9)
WEAK = Promises(acks=1)
STRONG = Promises(min_insync_replicas=2, replication_factor=3)
LOST, SKIP, CONFLICT = FindingKind.LOST_WRITE, FindingKind.POLL_SKIP, FindingKind.INCONSISTENT_OFFSETS
SENT = FindingKind.NONMONOTONIC_SEND


def sent(value: int, offset: int = -1, outcome: Outcome = Outcome.ACKED, *, transactional: bool = False) -> Send:
    f = Function.TXN if transactional else Function.SEND
    call = Call(number=0, invoked_at=0, process=0, f=f, index=0, invoked_us=0)
    return Send(process=0, index=0, value_id=value, invoke_us=0, ack_offset=offset, outcome=outcome, call=call)


def partition(*sends: Send, topic: str = "orders", **given: Any) -> Analysis:
    sends_of: dict[Any, list[Send]] = {}
    for each in sends:
        sends_of.setdefault(each.value_id, []).append(each)
    return Analysis(topic=topic, partition=0, sends_of=sends_of, **given)


def cause_of(finding: Finding, *analyses: Analysis, promises: Promises = WEAK, **circumstances: Any) -> Cause:
    history: Any = SimpleNamespace(analyses={each.key: each for each in analyses})
    given = {"faults": [CRASH], "compacted": False, "message_keys": {}, "promises": promises, **circumstances}
    stated: Any = SimpleNamespace(**given)
    FaultExplainer(history, stated).explain(finding)
    return finding.cause


def found(kind: FindingKind, *values: int, **given: Any) -> Finding:
    where = {"topic": "orders", "partition": 0, "value_id": values[0], "detail": ""}
    return Finding(kind=kind, values=values, **{**where, **given})


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (CRASH, Cause.LEADER_FAULT),
        (replace(CRASH, kind="leader-move"), Cause.LEADER_FAULT),
        (replace(CRASH, key="orders-0"), Cause.LEADER_FAULT),
        (replace(CRASH, key="orders-1"), Cause.UNEXPLAINED),
        (replace(CRASH, kind="partition"), Cause.UNEXPLAINED),
        (replace(CRASH, kind="unclean-election"), Cause.UNEXPLAINED),  # not permitted
    ],
)
def test_a_fault_of_the_partition_explains_a_loss(fault: Fault, cause: Cause) -> None:
    assert cause_of(found(LOST, 1), partition(sent(1, 5)), faults=[fault]) is cause


def test_the_cause_counts_that_is_permitted() -> None:
    faults = [CRASH, replace(CRASH, kind="unclean-election")]
    unclean = Promises(min_insync_replicas=2, replication_factor=3, unclean_leader_election=True)
    assert cause_of(found(LOST, 1), partition(sent(1, 5)), faults=faults, promises=unclean) is Cause.UNCLEAN_ELECTION
    assert cause_of(found(LOST, 1), partition(sent(1, 5)), faults=faults, promises=STRONG) is Cause.UNEXPLAINED


def test_a_finding_that_is_permitted_or_has_a_cause_keeps_it() -> None:
    assert cause_of(found(LOST, 1, cause=Cause.RETRY), partition(sent(1, 5))) is Cause.RETRY
    loose = Promises(acks=1, enable_idempotence=False)
    assert cause_of(found(SENT, 1, cause=Cause.PIPELINED), partition(sent(1, 5)), promises=loose) is Cause.PIPELINED
    assert cause_of(found(SENT, 1, cause=Cause.PIPELINED), partition(sent(1, 5))) is Cause.LEADER_FAULT
    assert cause_of(found(SENT, 1, cause=Cause.PIPELINED), partition(sent(1, 5)), promises=STRONG) is Cause.PIPELINED


def test_other_findings_and_those_of_no_partition_need_no_explanation() -> None:
    assert cause_of(found(FindingKind.DUPLICATE, 1), partition(sent(1, 5))) is Cause.UNEXPLAINED
    assert cause_of(found(LOST, 1, topic="", partition=-1), partition(sent(1, 5))) is Cause.UNEXPLAINED
    assert cause_of(found(LOST, 1)) is Cause.UNEXPLAINED


def test_each_value_of_a_finding_needs_a_cause() -> None:
    analysis = partition(sent(1, 5), sent(2, 6), log_start=6)
    torn = FindingKind.TORN_TXN
    assert cause_of(found(torn, 1), analysis, faults=[]) is Cause.RETENTION
    assert cause_of(found(torn, 1, 2), analysis, faults=[]) is Cause.UNEXPLAINED
    assert cause_of(found(torn, 1, 2), analysis) is Cause.RETENTION
    assert cause_of(found(torn, 2, 1), analysis) is Cause.LEADER_FAULT


def test_a_value_of_a_torn_transaction_may_be_of_another_partition() -> None:
    torn = FindingKind.TORN_TXN
    other = partition(sent(2, 5), topic="other", log_start=6)
    here = partition(sent(1, 5), polled={3: [1]}, log_start=6)
    assert cause_of(found(torn, 1, 2), here, other, faults=[]) is Cause.RETENTION
    assert cause_of(found(torn, 1, 2), partition(sent(1, 5), log_start=6), partition(topic="other"), faults=[]) is (
        Cause.UNEXPLAINED
    )
    polled = partition(polled={3: [1]}, log_start=2)
    assert cause_of(found(torn, 3), polled, partition(sent(3, 5), topic="other"), faults=[]) is Cause.RETENTION
    mine = partition(sent(3, 5), log_start=6)
    assert cause_of(found(torn, 3), mine, partition(sent(3, 9), topic="other"), faults=[]) is Cause.RETENTION


@pytest.mark.parametrize(
    ("values", "readers", "cause"),
    [
        ((1, 2), (), Cause.LEADER_FAULT),
        ((1, 2), (1,), Cause.LEADER_FAULT),
        ((1, 2), (2,), Cause.LEADER_FAULT),
        ((1, 2), (1, 2), Cause.UNEXPLAINED),
    ],
)
def test_one_lost_record_explains_sends_out_of_order(
    values: tuple[int, ...], readers: tuple[int, ...], cause: Cause
) -> None:
    reader = Call(number=0, invoked_at=0, process=0, f=Function.POLL, index=0, invoked_us=0)
    analysis = partition(sent(1, 5), sent(2, 6), readers=dict.fromkeys(readers, reader))
    assert cause_of(found(SENT, *values), analysis) is cause


def test_all_values_at_an_offset_but_one_need_a_cause() -> None:
    assert cause_of(found(CONFLICT, 1, 2), partition(sent(1, 5), sent(2, 5))) is Cause.LEADER_FAULT
    assert cause_of(found(CONFLICT, 1), partition(sent(1, 5))) is Cause.UNEXPLAINED
    assert cause_of(found(CONFLICT, 1, 2), partition(sent(1, 5), sent(2, 5)), faults=[]) is Cause.UNEXPLAINED


READER = Call(number=0, invoked_at=0, process=0, f=Function.POLL, index=0, invoked_us=0)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({}, Cause.LEADER_FAULT),
        ({"stored": {1: [5]}}, Cause.UNEXPLAINED),
        ({"readers": {1: READER}}, Cause.LEADER_FAULT),
        ({"log_known": False}, Cause.LEADER_FAULT),
        ({"log_known": False, "readers": {1: READER}}, Cause.UNEXPLAINED),
        ({"log_known": False, "stored": {1: [5]}}, Cause.LEADER_FAULT),
        ({"stored": {1: [5]}, "log_start": 6}, Cause.RETENTION),
    ],
)
def test_a_consumer_passes_a_record_that_is_lost(given: dict[str, Any], cause: Cause) -> None:
    assert cause_of(found(SKIP, 1), partition(sent(1, 5), **given)) is cause


@pytest.mark.parametrize(
    ("sends", "cause"),
    [
        ([sent(1, 5, Outcome.UNKNOWN, transactional=True)], Cause.UNCOMMITTED),
        ([sent(1, 5, Outcome.FAILED, transactional=True)], Cause.UNCOMMITTED),
        ([sent(1, 5, transactional=True)], Cause.UNEXPLAINED),
        ([sent(1, 5, Outcome.FAILED)], Cause.UNEXPLAINED),
        ([sent(1, 5, Outcome.FAILED, transactional=True), sent(1, 5, transactional=True)], Cause.UNEXPLAINED),
        ([], Cause.UNEXPLAINED),
    ],
)
def test_a_consumer_passes_a_record_that_was_not_committed(sends: list[Send], cause: Cause) -> None:
    dirty = Promises(read_committed=False, min_insync_replicas=2, replication_factor=3)
    assert cause_of(found(SKIP, 1), partition(*sends), promises=dirty, faults=[]) is cause


@pytest.mark.parametrize(
    ("offset", "polled", "start", "cause"),
    [
        (5, (), 5, Cause.UNEXPLAINED),
        (5, (), 6, Cause.RETENTION),
        (0, (), 1, Cause.RETENTION),
        (-1, (), 6, Cause.UNEXPLAINED),
        (-1, (3, 5), 6, Cause.RETENTION),
        (-1, (3, 6), 6, Cause.UNEXPLAINED),
        (0, (9,), 1, Cause.RETENTION),
    ],
)
def test_what_is_below_the_start_of_the_log_was_deleted(
    offset: int, polled: tuple[int, ...], start: int, cause: Cause
) -> None:
    analysis = partition(sent(1, offset), polled={1: list(polled)} if polled else {}, log_start=start)
    assert cause_of(found(LOST, 1), analysis, faults=[]) is cause


@pytest.mark.parametrize(
    ("keys", "given", "cause"),
    [
        ({"1": "k", "2": "k"}, {}, Cause.COMPACTION),
        ({"1": "k", "2": "other"}, {}, Cause.UNEXPLAINED),
        ({"2": "k"}, {}, Cause.UNEXPLAINED),
        ({"1": "k", "2": "k"}, {"stored": {2: [4]}}, Cause.UNEXPLAINED),
        ({"1": "k", "2": "k"}, {"stored": {2: [4, 7]}}, Cause.COMPACTION),
        ({"1": "k"}, {}, Cause.UNEXPLAINED),
        ({"1": "k", "3": "k"}, {"polled": {3: [7]}}, Cause.COMPACTION),
    ],
)
def test_a_later_record_of_its_key_explains_a_loss_where_logs_are_compacted(
    keys: dict[str, str], given: dict[str, Any], cause: Cause
) -> None:
    analysis = partition(sent(1, 5), sent(2, 6), **given)
    assert cause_of(found(LOST, 1), analysis, faults=[], compacted=True, message_keys=keys) is cause
    assert cause_of(found(LOST, 1), analysis, faults=[], message_keys=keys) is Cause.UNEXPLAINED


def test_a_value_that_was_sent_twice_is_where_it_was_acknowledged_last() -> None:
    analysis = partition(sent(1, 2), sent(1, 7), log_start=5)
    assert cause_of(found(LOST, 1), analysis, faults=[]) is Cause.UNEXPLAINED
    assert cause_of(found(LOST, 1), partition(sent(1, 2), sent(1, 4), log_start=5), faults=[]) is Cause.RETENTION
