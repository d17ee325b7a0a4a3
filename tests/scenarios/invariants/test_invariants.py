from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.findings import IN_RUNS
from broker_scenarios.invariants import INVARIANTS
from broker_scenarios.invariants.one_controller_per_epoch import OneControllerPerEpoch
from broker_scenarios.invariants.watch import FINDINGS_LIMIT, InvariantWatch
from broker_scenarios.language.yaml_source import ScenarioFileError
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.events import (
    BatchAppended,
    ControllerElected,
    Detail,
    Event,
    GroupMemberAssigned,
    GroupMemberRemoved,
    GroupStateChanged,
    HighWatermarkAdvanced,
    LeaderElected,
    TransactionMarkerWritten,
    TransactionStateChanged,
)
from broker_sim.log.replica_log import ReplicaLog
from tests.scenarios.playing.runs import play, scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from broker_scenarios.run_record import RunRecord
    from broker_sim.cluster import Cluster

ALL = f"[{', '.join(INVARIANTS)}]"
RUN = """
title: t
cluster: {brokers: 2}
topics: {orders: {partitions: 1, replication_factor: 2}}
clients:
  app: {producer: {acks: all, linger.ms: 0}, script: [{send: {count: 4, every_ms: 100, wait: true}}, close]}
ALWAYS
expect: {verdict: any}
"""
TRANSACTIONS = """
title: t
cluster:
  brokers: 3
  config: {group.initial.rebalance.delay.ms: 0, transaction.state.log.min.isr: 1, broker.session.timeout.ms: 1500}
topics:
  in: {partitions: 2, replication_factor: 3}
  out: {partitions: 2, replication_factor: 3}
clients:
  source: {producer: {}, script: [{send: {topic: in, count: 12, every_ms: 40}}, flush, close]}
  classic:
    count: 2
    consumer: {group.id: c, auto.offset.reset: earliest, session.timeout.ms: 6000}
    script: [{subscribe: [in]}, {poll: {until: end}}, close]
  modern:
    count: 2
    consumer: {group.id: m, group.protocol: consumer, auto.offset.reset: earliest}
    script: [{subscribe: [in]}, {poll: {until: end}}, close]
  copier:
    producer: {transactional.id: t}
    consumer: {group.id: g, auto.offset.reset: earliest, enable.auto.commit: false, isolation.level: read_committed}
    script: [init, {subscribe: [in]}, {copy: {to: out, records: 12, at_most: 3, abort: [2]}}, close]
rules:
  crash: {when: {acked_records: 4}, act: {kill: leader of in-0}, until: {delay_ms: 3000}}
ALWAYS
expect: {verdict: any}
"""


def found(run: RunRecord) -> dict[str, int]:
    return {each.kind.value: each.found for each in run.verdict.judged if each.found and each.kind in IN_RUNS}


def run_with(folder: Path, at_ms: float, disturb: Callable[[Cluster], None], names: str = ALL) -> RunRecord:
    """Run two brokers, and do something to them at a time of the load."""
    run = VirtualRun(scenario_of(folder, RUN.replace("ALWAYS", f"always: {names}")), 1)
    run.world.reactor.callLater(at_ms / 1000, disturb, run.cluster)
    return judged(run.run(None), engine=None)


@pytest.mark.parametrize("text", [RUN, TRANSACTIONS])
def test_all_hold_where_brokers_crash_and_the_run_is_the_same_without_them(tmp_path: Path, text: str) -> None:
    watched = play(tmp_path, text.replace("ALWAYS", f"always: {ALL}"))
    assert found(watched.run) == {}
    assert watched.run.verdict.crashes == []
    alone = play(tmp_path, text.replace("ALWAYS", ""))
    assert watched.evidence.facts == alone.evidence.facts
    assert "digest" in alone.evidence.facts


def test_a_journal_without_traffic_makes_it_for_the_invariants(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, RUN.replace("ALWAYS", "always: [high-watermark-never-back]"))
    run = VirtualRun(scenario, 1, journal_detail=Detail.CLUSTER)
    run.world.reactor.callLater(0.25, lower_high_watermark, run.cluster)
    evidence = run.run(None)
    assert run.cluster.journal.full
    assert evidence.watch is not None
    assert [each.kind for each in evidence.watch.findings] == ["high-watermark-never-back"]


RACE = """
title: t
cluster:
  brokers: 3
  config: {replica.lag.time.max.ms: 1500, broker.session.timeout.ms: 1500, broker.heartbeat.interval.ms: 300}
  defects: [high-watermark-ignores-newcomers]
topics: {orders: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}}
clients:
  app:
    producer: {acks: all, linger.ms: 0, request.timeout.ms: 2000, delivery.timeout.ms: 4000}
    script:
      - {send: {wait: true}}
      - {wait: {rule: out-of-sync}}
      - {send: {wait: true}}
      - {wait: {rule: late-response}}
      - {wait: 100}
      - {send: {wait: true}}
      - close
always: [high-watermark-within-isr, acknowledged-records-kept]
rules:
  out-of-sync:
    when: {acked_records: 1, delay_ms: 200}
    until: {acked_records: 2, delay_ms: 100}
    select: {api: Fetch, replica: 3, broker: 1}
    phase: before_parse
    act: hold
  late-metadata: {when: {acked_records: 2}, act: {lag_metadata: {broker: 1, ms: 3000}}}
  late-response:
    when: {acked_records: 2}
    select: {api: AlterPartition, replica: 1, nth: 1}
    phase: before_response
    act: hold
    until: {after: late-response, delay_ms: 3000}
  no-records-for-3:
    when: {after: late-response}
    until: {after: late-response, delay_ms: 3000}
    select: {api: Fetch, replica: 3, broker: 1}
    phase: before_response
    act: hold
expect: {verdict: broken, high-watermark-within-isr: 1, acknowledged-records-kept: 1, lost: 0}
flip: {why: the leader waits, cluster: {defects: null}, expect: {high-watermark-within-isr: 0}}
"""


def test_a_defect_shows_at_its_event_also_where_no_record_is_lost(tmp_path: Path) -> None:
    played = play(tmp_path, RACE)
    assert played.run.judgement.misses == ()
    [watermark, kept] = [each.detail for each in played.evidence.watch.findings]  # type: ignore[union-attr]
    assert watermark.startswith("the high watermark is 3, broker 3 of the ISR ends at 2 (event ")
    assert "HighWatermarkAdvanced of node 1" in watermark
    assert kept.startswith("broker 3 may lead, and lacks offset 2, acknowledged with acks=all (event ")
    group = next(group for group in played.run.verdict.groups if group.kind == "high-watermark-within-isr")
    assert group.examples[0].detail == watermark
    flip = scenario_of(tmp_path, RACE).flip
    assert flip is not None
    assert judged(VirtualRun(flip, 1).run(None), engine=None).judgement.misses == ()


def lower_high_watermark(cluster: Cluster) -> None:
    log = cluster.log_of(1, "orders", 0)
    assert log is not None
    log.high_watermark = 0
    cluster.journal.append(at(HighWatermarkAdvanced, **ORDERS, broker_id=1, high_watermark=0, leader_epoch=0))


def move_log_start_back(cluster: Cluster) -> None:
    log = cluster.log_of(1, "orders", 0)
    assert log is not None
    log.log_start_offset = 1
    cluster.reactor.callLater(0.1, setattr, log, "log_start_offset", 0)


def forget_a_record(cluster: Cluster) -> None:
    log = cluster.log_of(2, "orders", 0)
    assert log is not None
    cluster.kill(1)
    log.truncate_to(0)


def appending(*events: Event) -> Callable[[Cluster], None]:
    """Let the journal have events that no broker has caused."""

    def append(cluster: Cluster) -> None:
        for event in events:
            cluster.journal.append(event)

    return append


def at(kind: type[Event], **values: object) -> Event:
    return kind(**{"time_us": 0, "broker_id": 2, **values})  # type: ignore[arg-type]


ORDERS = {"topic": "orders", "partition": 0}
BATCH = {
    **ORDERS, "base_offset": 0, "last_offset": 0, "leader_epoch": 0, "records": 1, "size": 70,
}  # fmt: skip
GROUP = {"group_id": "g", "generation": 1, "state": "Stable", "previous": "Empty", "members": 2}
MEMBER = {"group_id": "g", "assignment": "orders-0, orders-1"}
DECIDED = {
    "transactional_id": "t", "producer_id": 7, "producer_epoch": 0, "previous": "Ongoing", "partitions": "orders-0",
}  # fmt: skip
MARKER = {
    **ORDERS, "producer_id": 7, "producer_epoch": 0, "committed": True, "coordinator_epoch": 0, "error": "NONE",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "disturb"),
    [
        ("high-watermark-never-back", lower_high_watermark),
        ("log-start-never-back", move_log_start_back),
        ("acknowledged-records-kept", forget_a_record),
        ("one-leader-per-epoch", appending(at(BatchAppended, **BATCH))),
        (
            "one-leader-per-epoch",
            appending(at(LeaderElected, **ORDERS, previous_leader=1, leader_epoch=0, isr=(2,), unclean=False)),
        ),
        ("one-value-per-epoch-and-offset", appending(at(BatchAppended, **{**BATCH, "broker_id": 1}))),
        (
            "one-controller-per-epoch",
            appending(
                at(ControllerElected, controller_epoch=3), at(ControllerElected, controller_epoch=3, broker_id=1)
            ),
        ),
        (
            "one-owner-per-partition",
            appending(
                at(GroupStateChanged, **GROUP, group_type="consumer"),
                at(GroupMemberAssigned, **MEMBER, member_id="a", generation=1),
                at(GroupMemberAssigned, **{**MEMBER, "assignment": "orders-1"}, member_id="b", generation=2),
            ),
        ),
        (
            "one-owner-per-partition",
            appending(
                at(GroupStateChanged, **GROUP, group_type="classic"),
                at(GroupMemberAssigned, **MEMBER, member_id="a", generation=1),
                at(GroupMemberAssigned, **{**MEMBER, "assignment": "orders-1"}, member_id="b", generation=1),
            ),
        ),
        (
            "markers-follow-decisions",
            appending(
                at(TransactionStateChanged, **DECIDED, state="PrepareAbort"),
                at(TransactionMarkerWritten, **MARKER, client_id="broker-1"),
            ),
        ),
        (
            "markers-follow-decisions",
            appending(
                at(TransactionStateChanged, **DECIDED, state="Ongoing"),
                at(TransactionMarkerWritten, **MARKER, client_id="broker-1"),
            ),
        ),
    ],
)
def test_each_invariant_notices_when_it_is_broken(
    tmp_path: Path, name: str, disturb: Callable[[Cluster], None]
) -> None:
    run = run_with(tmp_path, 250, disturb)
    assert found(run).get(name) == 1
    assert run.verdict.validity == "broken"


@pytest.mark.parametrize(
    "events",
    [
        (
            at(GroupStateChanged, **GROUP, group_type="classic"),
            at(GroupMemberAssigned, **MEMBER, member_id="a", generation=1),
            at(GroupMemberAssigned, **MEMBER, member_id="b", generation=2),
        ),
        (
            at(GroupStateChanged, **GROUP, group_type="consumer"),
            at(GroupMemberAssigned, **MEMBER, member_id="a", generation=1),
            at(GroupMemberRemoved, group_id="g", member_id="a", reason="left"),
            at(GroupMemberAssigned, **MEMBER, member_id="b", generation=2),
        ),
        (
            at(GroupStateChanged, **GROUP, group_type="share"),
            at(GroupMemberAssigned, **MEMBER, member_id="a", generation=1),
            at(GroupMemberAssigned, **MEMBER, member_id="b", generation=1),
        ),
        (
            at(TransactionStateChanged, **DECIDED, state="PrepareCommit"),
            at(TransactionMarkerWritten, **MARKER, client_id="broker-1"),
            at(TransactionStateChanged, **DECIDED, state="Ongoing"),
            at(TransactionMarkerWritten, **MARKER, client_id="admin-1"),
        ),
    ],
)
def test_what_kafka_permits_is_no_finding(tmp_path: Path, events: tuple[Event, ...]) -> None:
    assert found(run_with(tmp_path, 250, appending(*events))) == {}


def test_a_stable_offset_beyond_an_open_transaction_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicaLog, "last_stable_offset", property(lambda log: log.high_watermark))
    run = play(tmp_path, TRANSACTIONS.replace("ALWAYS", "always: [stable-offset-within-transactions]")).run
    assert found(run)["stable-offset-within-transactions"] >= 1


def test_a_crash_of_an_invariant_leaves_the_run_and_makes_the_verdict_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("zero")

    monkeypatch.setattr(OneControllerPerEpoch, "events", (BatchAppended,))
    monkeypatch.setattr(OneControllerPerEpoch, "check", crash)
    run = play(tmp_path, RUN.replace("ALWAYS", "always: [one-controller-per-epoch]")).run
    assert run.verdict.validity == "unknown"
    assert run.verdict.reasons == [
        "invariant one-controller-per-epoch crashed at BatchAppended: ZeroDivisionError: zero"
    ]
    assert run.verdict.counts.acked == 4


def test_the_number_of_findings_is_limited(tmp_path: Path) -> None:
    run = VirtualRun(scenario_of(tmp_path, RUN.replace("ALWAYS", "")), 1)
    watch = InvariantWatch(run.cluster, ["one-controller-per-epoch"])
    for epoch in range(FINDINGS_LIMIT + 2):
        for node in (1, 2):
            run.cluster.journal.append(at(ControllerElected, controller_epoch=epoch, broker_id=node))
    assert len(watch.findings) == FINDINGS_LIMIT
    assert len(watch.crashes) == 1
    run.cluster.close()


@pytest.mark.parametrize(
    ("always", "expect", "problem"),
    [
        ("[one-leader-per-epochs]", "{}", "case.yaml:7:10: always.0: expected one of"),
        ("[one-leader-per-epochs]", "{}", "did you mean 'one-leader-per-epoch'?"),
        ("[]", "{}", "always: expected a list with at least one value"),
        ("[one-leader-per-epoch, one-leader-per-epoch]", "{}", "always.1: 'one-leader-per-epoch' is there twice"),
        (
            "[one-leader-per-epoch]",
            "{one-controller-per-epoch: 0}",
            "expect.one-controller-per-epoch: is checked during a run whose `always` names it",
        ),
    ],
)
def test_a_wrong_name_is_refused(tmp_path: Path, always: str, expect: str, problem: str) -> None:
    text = RUN.replace("ALWAYS", f"always: {always}").replace("expect: {verdict: any}", f"expect: {expect}")
    with pytest.raises(ScenarioFileError) as raised:
        scenario_of(tmp_path, text)
    assert problem in str(raised.value)


def test_the_flip_has_its_own_invariants(tmp_path: Path) -> None:
    flip = "flip: {why: w, always: [one-leader-per-epoch], expect: {one-leader-per-epoch: 0}}"
    scenario = scenario_of(tmp_path, RUN.replace("ALWAYS", "always: [log-start-never-back]") + flip)
    assert scenario.always == ("log-start-never-back",)
    assert scenario.flip is not None
    assert scenario.flip.always == ("one-leader-per-epoch",)


DARK = """
title: t
release: 3.7.2
cluster: {brokers: 3, disk: virtual, config: {broker.session.timeout.ms: 3000}}
topics: {orders: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}}
clients:
  app:
    producer: {acks: all, linger.ms: 0, request.timeout.ms: 500}
    script: [{send: {wait: true}}, {send: {count: 2, every_ms: 100}}, flush, close]
rules:
  lost: {select: {api: Produce, nth: 2}, act: drop_response}
  power: {when: {fired: lost, delay_ms: 50}, act: {lose_power: 2}, until: {delay_ms: DOWN}}
always: [acknowledged-records-kept, high-watermark-within-isr]
expect: {verdict: valid}
"""


@pytest.mark.parametrize("down_ms", [300, 4000])
def test_a_broker_that_lost_its_power_is_judged_when_it_has_registered_again(tmp_path: Path, down_ms: int) -> None:
    # Broker 2 is still in the ISR when the batch is sent again, and acknowledged as one that is there.
    played = play(tmp_path, DARK.replace("DOWN", str(down_ms)))
    assert played.run.judgement.misses == ()
    assert any(type(event).__name__ == "BatchDeduplicated" for event in played.evidence.truth.journal)
