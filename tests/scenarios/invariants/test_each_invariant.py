"""Each invariant at hand-made events of a small cluster: its boundaries, and what it must not judge."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.invariants import INVARIANTS
from broker_scenarios.invariants import watch as watching
from broker_scenarios.invariants.watch import InvariantWatch
from broker_sim.broker_state import BrokerState
from broker_sim.control.events import (
    BatchAppended,
    ControllerElected,
    Detail,
    Event,
    GroupMemberAssigned,
    GroupMemberRemoved,
    GroupStateChanged,
    HighWatermarkAdvanced,
    IsrChanged,
    LeaderElected,
    ProduceCompleted,
    TopicCreated,
    TransactionMarkerWritten,
    TransactionStateChanged,
)
from broker_sim.log.leader_epoch_cache import LeaderEpochCache
from broker_sim.topic_partition import TopicPartition
from tests.scenarios.small_cluster import ORDERS, Log, SmallCluster, batch, marker

if TYPE_CHECKING:
    from broker_scenarios.findings import Finding


class Watched:
    """Some invariants of a small cluster."""

    def __init__(self, cluster: SmallCluster, *names: str) -> None:
        self.cluster = cluster
        given: Any = cluster
        self.watch = InvariantWatch(given, names)

    def append(self, *events: Event) -> Watched:
        for event in events:
            self.cluster.journal.append(event)
        return self

    @property
    def findings(self) -> list[Finding]:
        assert self.watch.crashes == []
        return self.watch.findings

    @property
    def details(self) -> list[str]:
        """The details of the findings, without the place in the journal."""
        return [finding.detail.partition(" (event ")[0] for finding in self.findings]


def three(*batches: Any) -> SmallCluster:
    """All replicas have the same batches."""
    return SmallCluster(*(Log(*batches) for _ in range(3)))


def place(broker: int = 0, topic: str = "orders") -> dict[str, Any]:
    return {"time_us": 0, "broker_id": broker, "topic": topic, "partition": 0}


def advanced(to: int, *, broker: int = 0, epoch: int = 0, stable: int = -1) -> Event:
    return HighWatermarkAdvanced(**place(broker), high_watermark=to, leader_epoch=epoch, last_stable_offset=stable)


def appended(first: int, last: int, *, broker: int = 0, epoch: int = 0, topic: str = "orders") -> Event:
    return BatchAppended(
        **place(broker, topic), base_offset=first, last_offset=last, leader_epoch=epoch, records=1, size=70
    )


def elected(broker: int, epoch: int = 0, topic: str = "orders") -> Event:
    return LeaderElected(**place(broker, topic), previous_leader=-1, leader_epoch=epoch, isr=(0,), unclean=False)


def completed(offset: int, *, acks: int = -1, error: int = 0, broker: int = 0) -> Event:
    return ProduceCompleted(
        **place(broker), error_code=error, base_offset=offset, required_offset=0, high_watermark=0, leader_epoch=0,
        isr=(0,), acks=acks,
    )  # fmt: skip


def isr_changed(isr: tuple[int, ...], previous: tuple[int, ...]) -> Event:
    return IsrChanged(**place(), isr=isr, previous_isr=previous, leader_epoch=0, partition_epoch=1)


# acknowledged-records-kept

KEPT = "acknowledged-records-kept"


def lacks(broker: int, offset: int = 0) -> str:
    return f"broker {broker} may lead, and lacks offset {offset}, acknowledged with acks=all"


@pytest.mark.parametrize(
    ("event", "found"),
    [
        (completed(0), [lacks(1)]),
        (completed(0, acks=1), []),
        (completed(0, acks=0), []),
        (completed(0, error=20), []),
        (completed(-1), []),
        (completed(0, broker=1), []),  # it does not lead
        (completed(0, broker=7), []),
        (completed(1), []),  # deleted in the meantime
    ],
)
def test_an_acknowledged_batch_is_at_every_member(event: Event, found: list[str]) -> None:
    cluster = SmallCluster(Log(batch(0, 1)), Log(), Log(batch(0, 1)))
    assert Watched(cluster, KEPT).append(event).details == found


def test_another_batch_at_its_offset_is_not_the_acknowledged_one() -> None:
    cluster = SmallCluster(Log(batch(0, 1)), Log(batch(0, 1)), Log(batch(0, 2)))
    assert Watched(cluster, KEPT).append(completed(0)).details == [lacks(2)]


def test_a_leader_of_another_epoch_is_not_compared_with_the_controllers_isr() -> None:
    cluster = SmallCluster(Log(batch(0, 1)), Log(), Log())
    cluster.hosted(0).leader_epoch = 1
    assert Watched(cluster, KEPT).append(completed(0)).details == []
    del cluster.registrations[ORDERS]
    assert Watched(cluster, KEPT).append(completed(0)).details == []


@pytest.mark.parametrize(
    ("event", "found"),
    [
        (elected(0, 1), [lacks(0)]),
        (elected(1, 1), []),
        (elected(2, 1), [lacks(2)]),
        (elected(-1, 1), []),
        (elected(7, 1), [lacks(7)]),  # a broker that is gone
        (isr_changed((1, 0), (1,)), [lacks(0)]),
        (isr_changed((1, 2), (1, 2)), []),
        (isr_changed((1,), (0, 1)), []),
        (elected(2, 1, topic="other"), []),
    ],
)
def test_a_new_leader_and_a_new_member_hold_the_last_one(event: Event, found: list[str]) -> None:
    cluster = three(batch(0, 1))
    watched = Watched(cluster, KEPT).append(completed(0))
    for broker in (0, 2):
        cluster.brokers[broker].logs[ORDERS].held.clear()
    assert watched.append(event).details == found


def test_the_last_one_is_the_latest_of_the_newest_epoch() -> None:
    cluster = three(batch(0, 1), batch(1, 2))
    watched = Watched(cluster, KEPT).append(completed(1), completed(0))
    cluster.brokers[1].logs[ORDERS].held.pop()
    assert watched.append(elected(1, 1)).details == [lacks(1, 1)]
    cluster.hosted(0).leader_epoch = 2
    cluster.brokers[1].logs[ORDERS].held.clear()
    assert watched.append(completed(0), elected(1, 3)).details == [lacks(1, 1), lacks(1)]


@pytest.mark.parametrize(
    ("log", "kept"),
    [
        (Log(start=1), True),
        (Log(start=0), False),
        (Log(dirty=1), True),
        (Log(dirty=0), False),
        (None, False),
    ],
)
def test_what_was_removed_is_not_missed(log: Log | None, kept: bool) -> None:
    cluster = SmallCluster(Log(batch(0, 1)), log, Log(batch(0, 1)))
    assert Watched(cluster, KEPT).append(completed(0)).details == ([] if kept else [lacks(1)])


@pytest.mark.parametrize(
    ("alive", "state", "has_log", "found"),
    [
        (True, BrokerState.RUNNING, True, [lacks(1)]),
        (True, BrokerState.STARTING, True, []),
        (False, BrokerState.RUNNING, True, [lacks(1)]),
        (False, BrokerState.RUNNING, False, []),  # it has lost its power
        (True, BrokerState.RUNNING, False, [lacks(1)]),
    ],
)
def test_a_broker_that_returns_is_judged_later(
    alive: bool, state: BrokerState, has_log: bool, found: list[str]
) -> None:
    cluster = SmallCluster(Log(batch(0, 1)), Log(), Log(batch(0, 1)))
    broker = cluster.brokers[1]
    broker.alive, broker.lifecycle.state = alive, state
    if not has_log:
        broker.logs.clear()
    assert Watched(cluster, KEPT).append(completed(0)).details == found


# high-watermark-within-isr

WITHIN = "high-watermark-within-isr"


@pytest.mark.parametrize(("to", "found"), [(1, []), (2, ["the high watermark is 2, broker 1 of the ISR ends at 1"])])
def test_a_high_watermark_is_within_the_logs_of_the_isr(to: int, found: list[str]) -> None:
    cluster = SmallCluster(Log(), Log(batch(0, 1)), Log(batch(0, 1, 2)))
    watched = Watched(cluster, WITHIN).append(advanced(to))
    assert watched.details == found
    assert [(finding.topic, finding.partition, finding.offset) for finding in watched.findings] == [
        ("orders", 0, 1)
    ] * len(found)


def test_the_isr_is_that_of_the_leader_and_of_the_controller() -> None:
    def found(of_leader: tuple[int, ...], of_controller: tuple[int, ...], epoch: int = 0) -> list[str]:
        cluster = SmallCluster(Log(batch(0, 1)), Log(), None)
        cluster.hosted(0).isr = of_leader
        cluster.registrations[ORDERS] = replace(cluster.registrations[ORDERS], isr=of_controller, leader_epoch=epoch)
        return [detail.partition(", ")[2][:8] for detail in Watched(cluster, WITHIN).append(advanced(1)).details]

    assert found((0,), (0,)) == []
    assert found((0, 1), (0,)) == ["broker 1"]
    assert found((0,), (0, 2)) == ["broker 2"]
    assert found((0,), (0, 1), epoch=1) == []
    assert found((2, 1), (1,)) == ["broker 1", "broker 2"]


def test_a_broker_that_leads_no_more_is_compared_with_the_controllers_isr() -> None:
    cluster = SmallCluster(Log(batch(0, 1)), Log(), Log(batch(0, 1)))
    cluster.hosted(0).is_leader = False
    watched = Watched(cluster, WITHIN)
    del cluster.registrations[ORDERS]
    assert watched.append(advanced(1)).details == []
    cluster.brokers[1].lifecycle.state = BrokerState.STARTING
    cluster.hosted(0).is_leader = True
    assert watched.append(advanced(1)).details == []
    cluster.brokers[1].lifecycle.state = BrokerState.RUNNING
    assert len(watched.append(advanced(1)).details) == 1


# high-watermark-never-back, log-start-never-back


@pytest.mark.parametrize(
    ("name", "attribute", "what"),
    [
        ("high-watermark-never-back", "high_watermark", "high watermark"),
        ("log-start-never-back", "log_start_offset", "log start offset"),
    ],
)
def test_an_offset_that_goes_back_is_found_once_per_leadership(name: str, attribute: str, what: str) -> None:
    cluster = three(batch(0, 1, 2, 3))
    log, watched = cluster.brokers[0].logs[ORDERS], Watched(cluster, name)

    def moved_to(offset: int) -> list[str]:
        setattr(log, attribute, offset)
        return watched.append(advanced(offset)).details

    assert moved_to(2) == moved_to(2) == moved_to(3) == []
    first = f"the {what} of its leader, broker 0, is 1 after 3"
    assert moved_to(1) == moved_to(0) == [first]
    cluster.hosted(0).leader_epoch = 1
    assert moved_to(0) == [first]
    cluster.brokers[0].lifecycle.incarnation = b"second"
    assert moved_to(3) == [first]
    assert moved_to(2) == [first, f"the {what} of its leader, broker 0, is 2 after 3"]
    cluster.hosted(0).is_leader = False
    assert len(moved_to(0)) == 2


# stable-offset-within-transactions

STABLE = "stable-offset-within-transactions"
OPEN = (batch(0, 1), batch(1, 2, producer=7, transactional=True), batch(2, 3, producer=8))


@pytest.mark.parametrize(
    ("more", "high_watermark", "stable", "first"),
    [
        ((), 3, 1, None),
        ((), 3, 2, 1),
        ((marker(3, 7),), 4, 4, None),
        ((marker(3, 7),), 3, 2, 1),  # the marker is not replicated yet
        ((marker(3, 7),), 3, 1, None),
        ((marker(3, 8),), 4, 4, 1),
        ((marker(3, 7), batch(4, 5, producer=7, transactional=True)), 5, 5, 4),
        ((batch(3, 4, producer=8, transactional=True), marker(4, 7)), 5, 4, 3),
        ((batch(3, 4, producer=7, transactional=True),), 4, 3, 1),
        ((batch(5, 4, producer=8, transactional=True), marker(6, 8), marker(8, 7)), 9, 9, None),
    ],
)
def test_no_open_transaction_is_below_the_stable_offset(
    more: tuple[Any, ...], high_watermark: int, stable: int, first: int | None
) -> None:
    watched = Watched(SmallCluster(Log(*OPEN, *more)), STABLE).append(advanced(high_watermark, stable=stable))
    assert watched.details == (
        [] if first is None else [f"the last stable offset is {stable}, a transaction is open from {first} on"]
    )


def test_a_marker_is_remembered_until_it_is_replicated() -> None:
    cluster = SmallCluster(Log(*OPEN, marker(3, 7)))
    watched = Watched(cluster, STABLE)
    assert watched.append(advanced(2, stable=1), advanced(3, stable=1)).details == []
    assert watched.append(advanced(4, stable=4), advanced(4, stable=4)).details == []
    cluster.brokers[0].logs[ORDERS].held.append(batch(4, 6, producer=7, transactional=True))
    assert len(watched.append(advanced(5, stable=5)).details) == 1
    cluster.hosted(0).is_leader = False
    assert len(watched.append(advanced(5, stable=5, epoch=1)).details) == 1


def test_a_transaction_below_the_start_of_the_log_is_not_read() -> None:
    cluster = SmallCluster(Log(*OPEN, start=2))
    assert Watched(cluster, STABLE).append(advanced(3, stable=3)).details == []
    later = SmallCluster(Log())
    watched = Watched(later, STABLE).append(advanced(0, stable=0))
    log = later.brokers[0].logs[ORDERS]
    log.held, log.log_start_offset = list(OPEN), 2
    assert watched.append(advanced(3, stable=3)).details == []


# one-leader-per-epoch, one-value-per-epoch-and-offset, one-controller-per-epoch

LEADER = "one-leader-per-epoch"


@pytest.mark.parametrize(
    ("events", "count"),
    [
        ([elected(1), elected(1), elected(2, 1)], 0),
        ([elected(1), elected(2)], 1),
        ([elected(0), elected(2)], 1),
        ([elected(0), elected(2), elected(2), elected(1)], 1),
        ([elected(-1), elected(2)], 0),
        ([elected(1, -1), elected(2, -1)], 0),
        ([elected(1), elected(2, topic="other")], 0),
        ([elected(1), appended(0, 0, broker=2)], 1),
        ([appended(0, 0, broker=0), appended(1, 1, broker=2)], 1),
        ([appended(0, 0, broker=0), elected(0)], 0),
    ],
)
def test_an_epoch_has_one_leader(events: list[Event], count: int) -> None:
    assert len(Watched(three(), LEADER).append(*events).details) == count


def test_a_broker_appends_to_the_topic_that_it_hosts() -> None:
    cluster = three()
    watched = Watched(cluster, LEADER).append(elected(1))
    cluster.hosted(2).topic_id = b"e" * 16  # an earlier topic of the same name
    assert watched.append(appended(0, 0, broker=2)).details == []
    del cluster.brokers[2].replica_manager.partitions[ORDERS]
    assert watched.append(appended(0, 0, broker=2)).details == ["brokers 1 and 2 both lead in leader epoch 0"]


def test_a_topic_that_is_created_again_is_another_one() -> None:
    created = TopicCreated(time_us=0, broker_id=-1, topic="orders", topic_id=b"n" * 16, partitions=1)
    assert Watched(three(), LEADER).append(elected(1), created, elected(2)).details == []


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([appended(0, 2), appended(3, 3), appended(4, 4)], []),
        ([appended(0, 2), appended(2, 3)], [2]),
        ([appended(0, 2), appended(0, 0), appended(1, 1)], [0, 1]),
        ([appended(0, 2), appended(0, 0), appended(2, 2)], [0, 2]),
        ([appended(0, 2), appended(0, 0, epoch=1)], []),
        ([appended(0, 2), appended(0, 0, broker=1)], [0]),
        ([appended(0, 2), appended(0, 0, broker=7)], []),
        ([appended(0, 2, epoch=-1), appended(0, 0, epoch=-1)], []),
    ],
)
def test_an_offset_is_assigned_once_in_an_epoch(events: list[Event], found: list[int]) -> None:
    watched = Watched(three(), "one-value-per-epoch-and-offset").append(*events)
    assert [finding.offset for finding in watched.findings] == found


def test_a_broker_that_is_down_assigns_no_offset() -> None:
    cluster = three()
    cluster.brokers[1].alive = False
    watched = Watched(cluster, "one-value-per-epoch-and-offset")
    assert watched.append(appended(0, 2), appended(0, 0, broker=1)).details == []


def test_an_epoch_has_one_controller() -> None:
    def active(node: int, epoch: int) -> Event:
        return ControllerElected(time_us=0, broker_id=node, controller_epoch=epoch)

    watched = Watched(three(), "one-controller-per-epoch").append(active(3000, 1), active(3000, 1), active(3001, 2))
    assert watched.details == []
    assert watched.append(active(3001, 1)).details == ["nodes 3000 and 3001 both lead in controller epoch 1"]


# one-owner-per-partition


def group(group_type: str, *, members: int = 2, group_id: str = "g") -> Event:
    return GroupStateChanged(
        time_us=0, broker_id=0, group_id=group_id, group_type=group_type, state="Stable", previous="Empty",
        generation=1, members=members,
    )  # fmt: skip


def assigned(member: str, assignment: str, generation: int = 1, group_id: str = "g") -> Event:
    return GroupMemberAssigned(
        time_us=0, broker_id=0, group_id=group_id, member_id=member, generation=generation, assignment=assignment
    )


def removed(member: str) -> Event:
    return GroupMemberRemoved(time_us=0, broker_id=0, group_id="g", member_id=member, reason="left")


FIRST = assigned("a", "orders-0, orders-1")


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([group("classic"), FIRST, assigned("b", "orders-1")], ["orders-1"]),
        ([group("classic"), FIRST, assigned("b", "orders-1", 2)], []),
        ([group("classic"), FIRST, assigned("a", "orders-1")], []),
        ([group("classic"), FIRST, assigned("b", "orders-2")], []),
        ([group("classic"), FIRST, assigned("b", "orders-1, orders-0")], ["orders-0", "orders-1"]),
        ([group("classic"), FIRST, assigned("b", "orders-2"), assigned("c", "orders-0")], ["orders-0"]),
        ([group("consumer"), FIRST, assigned("b", "orders-1", 2)], ["orders-1"]),
        ([group("consumer"), FIRST, removed("a"), assigned("b", "orders-1")], []),
        ([group("consumer"), FIRST, removed("x"), assigned("b", "orders-1")], ["orders-1"]),
        ([group("consumer"), FIRST, group("consumer", members=0), assigned("b", "orders-1")], []),
        ([group("consumer"), FIRST, group("consumer"), assigned("b", "orders-1")], ["orders-1"]),
        ([group("consumer"), FIRST, assigned("a", "orders-0"), assigned("b", "orders-1")], []),
        ([group("share"), FIRST, assigned("b", "orders-1")], []),
        ([FIRST, assigned("b", "orders-1")], []),
        ([group("consumer"), FIRST, group("consumer", group_id="h"), assigned("b", "orders-1", group_id="h")], []),
        ([group("classic"), assigned("a", "24 bytes"), assigned("b", "24 bytes")], []),
        ([group("classic"), assigned("a", ""), assigned("b", "")], []),
        ([group("classic"), removed("a"), FIRST], []),
    ],
)
def test_a_partition_has_one_owner(events: list[Event], found: list[str]) -> None:
    watched = Watched(three(), "one-owner-per-partition").append(*events)
    assert [f"{finding.topic}-{finding.partition}" for finding in watched.findings] == found


@pytest.mark.parametrize(("kept", "found"), [(5, []), (6, ["orders-0", "orders-1"])])
def test_an_assignment_that_the_next_coordinator_does_not_have_counts_no_more(kept: int, found: list[str]) -> None:
    cluster, epochs = three(), LeaderEpochCache()
    epochs.assign(0, 0)
    log = SimpleNamespace(log_end_offset=5, epochs=epochs)
    coordinating = SimpleNamespace(leader_epoch=0, log=log)
    cluster.topics["__consumer_offsets"] = SimpleNamespace(topic_id=b"o" * 16, partitions={0: None})
    cluster.brokers[0].replica_manager.partitions[TopicPartition("__consumer_offsets", 0)] = coordinating
    watched = Watched(cluster, "one-owner-per-partition").append(group("consumer"), FIRST)
    epochs.assign(1, kept)  # the next coordinator has the records below
    coordinating.leader_epoch, log.log_end_offset = 1, 8
    watched.append(assigned("b", "orders-0, orders-1", 2))
    assert [f"{finding.topic}-{finding.partition}" for finding in watched.findings] == found


@pytest.mark.parametrize("is_known", [True, False])
def test_an_assignment_of_the_same_or_of_no_known_coordinator_counts(is_known: bool) -> None:
    cluster, epochs = three(), LeaderEpochCache()
    epochs.assign(0, 0)
    log = SimpleNamespace(log_end_offset=5, epochs=epochs)
    hosted, place = cluster.brokers[0].replica_manager.partitions, TopicPartition("__consumer_offsets", 0)
    cluster.topics[place.topic] = SimpleNamespace(topic_id=b"o" * 16, partitions={0: None})
    coordinating = SimpleNamespace(leader_epoch=0, log=log)
    if is_known:
        hosted[place] = coordinating
    watched = Watched(cluster, "one-owner-per-partition").append(group("consumer"), FIRST)
    hosted[place] = coordinating
    watched.append(assigned("b", "orders-1", 2))
    assert [f"{finding.topic}-{finding.partition}" for finding in watched.findings] == ["orders-1"]


# markers-follow-decisions


def decided(state: str, producer: int = 7) -> Event:
    return TransactionStateChanged(
        time_us=0, broker_id=0, transactional_id="t", producer_id=producer, producer_epoch=0, previous="Ongoing",
        partitions="orders-0", state=state,
    )  # fmt: skip


def written(committed: bool, *, client_id: str = "broker-1", error: str = "NONE") -> Event:
    return TransactionMarkerWritten(
        **place(), producer_id=7, producer_epoch=0, committed=committed, coordinator_epoch=0, error=error,
        client_id=client_id,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("events", "decision"),
    [
        ([decided("PrepareCommit"), written(True)], None),
        ([decided("PrepareCommit"), written(False)], "was committed"),
        ([decided("PrepareAbort"), written(False)], None),
        ([decided("PrepareAbort"), written(True)], "was aborted"),
        ([decided("PrepareCommit"), decided("CompleteCommit"), written(False)], "was committed"),
        ([decided("Ongoing"), written(True)], "is open"),
        ([decided("Ongoing"), written(False)], "is open"),
        ([decided("PrepareCommit"), decided("Ongoing"), written(True)], "is open"),
        ([written(True)], None),
        ([decided("Ongoing", producer=8), written(True)], None),
        ([decided("Ongoing"), written(True, error="NOT_LEADER_OR_FOLLOWER")], None),
        ([decided("Ongoing"), written(True, client_id="admin-1")], None),
    ],
)
def test_a_marker_is_as_it_was_decided(events: list[Event], decision: str | None) -> None:
    details = Watched(three(), "markers-follow-decisions").append(*events).details
    kinds = {True: "a commit", False: "an abort"}
    last = events[-1]
    assert isinstance(last, TransactionMarkerWritten)
    text = f"{kinds[last.committed]} marker ends the transaction of producer 7, which {decision}"
    assert details == ([] if decision is None else [text])


# The watch


def test_each_subject_is_reported_once_with_its_event() -> None:
    cluster = three()
    cluster.now_us = 1_000
    watched = Watched(cluster, LEADER)
    watched.append(elected(1), replace(elected(0), time_us=3_500), elected(2), elected(1, 4), elected(2, 4))
    texts = [finding.detail for finding in watched.findings]
    assert texts[0].endswith(" (event 2, LeaderElected of node 0, 2.500 ms)")
    assert len(texts) == 2
    assert watched.findings[0].complete_us == 3_500
    created = Watched(three(), "one-controller-per-epoch")
    for node in (-1, 2):
        created.append(ControllerElected(time_us=0, broker_id=node, controller_epoch=1))
    assert created.findings[0].detail.endswith("(event 2, ControllerElected of node 2, 0.000 ms)")
    for node in (2, -1):
        created.append(ControllerElected(time_us=0, broker_id=node, controller_epoch=2))
    assert created.findings[1].detail.endswith("(event 4, ControllerElected, 0.000 ms)")


def test_findings_beyond_the_limit_are_one_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FINDINGS_LIMIT", 2)
    watched = Watched(three(), LEADER, "one-controller-per-epoch")
    for epoch in range(5):
        watched.append(elected(1, epoch), elected(2, epoch))
        assert len(watched.watch.findings) == min(epoch + 1, 2)
        assert len(watched.watch.crashes) == (epoch >= 2)


def test_a_crash_is_named_once_and_the_next_event_is_checked() -> None:
    cluster = three(batch(0, 1))
    watched = Watched(cluster, WITHIN)
    cluster.hosted(0).isr = None
    watched.append(advanced(1), advanced(1))
    [crash] = watched.watch.crashes
    assert crash.startswith("invariant high-watermark-within-isr crashed at HighWatermarkAdvanced: TypeError: ")
    cluster.hosted(0).isr = (0, 1)
    watched.append(advanced(2))
    assert len(watched.watch.findings) == 2


@pytest.mark.parametrize(
    ("name", "detail", "made"),
    [
        (LEADER, Detail.CLUSTER, True),
        (LEADER, Detail.FULL, False),
        ("one-controller-per-epoch", Detail.CLUSTER, False),
        ("one-controller-per-epoch", Detail.FULL, False),
    ],
)
def test_traffic_is_made_only_for_an_invariant_that_needs_it(name: str, detail: Detail, made: bool) -> None:
    cluster = SmallCluster(Log(), detail=detail)
    Watched(cluster, name)
    assert cluster.changes == made
    assert cluster.journal.full is (made or detail is Detail.FULL)


def test_every_invariant_bears_events_of_brokers_that_are_gone() -> None:
    events = [advanced(1, broker=9), completed(0, broker=9), appended(0, 0, broker=9), elected(9), elected(9, 1)]
    assert Watched(three(batch(0, 1)), *INVARIANTS).append(*events).findings == []
