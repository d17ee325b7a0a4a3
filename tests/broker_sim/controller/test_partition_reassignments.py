"""Reassigned replicas join, catch up and leave on virtual time, also when brokers crash on the way."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import LeaderElected
from broker_sim.controller.reassignment import Assignment, assignment_of, revert, towards
from broker_sim.metadata.metadata_image import PartitionRegistration
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

Make = Any
SESSION_MS = 9_000
MIN_ISR_2 = {"min.insync.replicas": "2"}


def reassign(cluster: Any, *replicas: int, cancel: bool = False, may_change_factor: bool = True) -> Any:
    """Request other replicas of the topic's partition from the controller; return the partition's response."""
    wanted = ReassignablePartition(partition_index=0, replicas=None if cancel else list(replicas))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=1_000,
        allow_replication_factor_change=may_change_factor,
        topics=[ReassignableTopic(name="t", partitions=[wanted])],
    )
    controller = cluster.cluster.controller
    return controller.controls.partitions.reassign(request).responses[0].partitions[0]


def ongoing(cluster: Any) -> list[tuple[list[int], list[int], list[int]]]:
    """The result of ListPartitionReassignments: replicas, adding, removing."""
    controller = cluster.cluster.controller
    response = controller.controls.partitions.list_reassignments(ListPartitionReassignmentsRequest())
    return [
        (each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in response.topics
        for each in topic.partitions
    ]


def registration(cluster: Any) -> PartitionRegistration:
    found: PartitionRegistration = cluster.cluster.registration_of(*cluster.topic)
    return found


def moving(cluster: Any) -> None:
    """Broker 3 is to come in place of 2, and cannot fetch."""
    cluster.produce(1, 2, 3)
    cluster.hold_fetches(3)
    assert reassign(cluster, 1, 3).error_code is ErrorCode.NONE
    cluster.run(ms=2_000)


# Catch-up.


def test_the_old_replica_goes_when_the_new_one_is_in_sync_and_not_before(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    moving(cluster)
    assert ongoing(cluster) == [([1, 3, 2], [3], [2])]
    assert registration(cluster).isr == (1, 2)
    assert cluster.values(3) == []
    cluster.produce(4)
    cluster.release_fetches(3)
    cluster.run(ms=2_000)
    assert ongoing(cluster) == []
    assert registration(cluster).replicas == (1, 3)
    assert registration(cluster).isr == (1, 3)
    assert cluster.values(3) == [1, 2, 3, 4]
    assert cluster.cluster.log_of(2, *cluster.topic) is None


def test_a_replica_that_comes_has_all_records_before_it_counts(replicas: Make) -> None:
    cluster = replicas(replication_factor=1)
    cluster.produce(*range(50))
    link = cluster.cluster.links.link(1, 3)
    link.set_delay(300)
    reassign(cluster, 1, 3)
    cluster.run(ms=100)
    assert registration(cluster).isr == (1,)
    cluster.run(ms=3_000)
    assert registration(cluster).isr == (1, 3)
    assert cluster.values(3) == list(range(50))
    assert ongoing(cluster) == []


def test_a_leader_that_goes_leads_until_the_others_are_in_sync(replicas: Make) -> None:
    cluster = replicas(replication_factor=1, brokers=3)
    cluster.produce(1)
    cluster.hold_fetches(2)
    reassign(cluster, 2, 3)
    cluster.run(ms=2_000)
    assert (cluster.leader(), registration(cluster).isr) == (1, (1, 3))
    assert cluster.produce(2, acks=1).error_code is ErrorCode.NONE
    cluster.release_fetches(2)
    cluster.run(ms=2_000)
    assert (cluster.leader(), registration(cluster).replicas) == (2, (2, 3))
    assert registration(cluster).leader_epoch == 1
    cluster.settle()
    assert cluster.values(2) == cluster.values(3) == [1, 2]
    assert cluster.produce(3, broker=2).base_offset == 2


def test_a_produce_that_waits_for_acks_of_a_removed_leader_gets_an_error(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    cluster.produce(1)
    cluster.cluster.broker(1).metadata_lag_ms = 3_000
    reassign(cluster, 2, 3)
    cluster.run(ms=2_900)
    assert cluster.leader() == 1, "it has not received the reassignment, and adds no follower to the ISR"
    cluster.run(ms=1_000)
    assert (cluster.leader(), registration(cluster).replicas) == (2, (2, 3))
    assert cluster.partition(1).is_leader, "as far as it knows"
    waiting = cluster.send(2, timeout_ms=60_000)
    cluster.run(ms=1_000)
    assert waiting == []
    cluster.run(ms=3_000)
    assert waiting[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.produce(3, broker=1).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.cluster.log_of(1, *cluster.topic) is None


def test_the_high_watermark_does_not_wait_for_a_replica_that_comes(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    moving(cluster)
    assert cluster.produce(4).error_code is ErrorCode.NONE
    assert cluster.high_watermark(1) == 4


def test_another_order_is_done_at_once_and_moves_no_leader(replicas: Make) -> None:
    cluster = replicas()
    reassign(cluster, 3, 2, 1)
    assert ongoing(cluster) == []
    assert registration(cluster).replicas == (3, 2, 1)
    assert (cluster.leader(), registration(cluster).leader_epoch) == (1, 0)


def test_a_broker_that_lags_with_its_metadata_comes_all_the_same(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    cluster.produce(1)
    cluster.cluster.broker(1).metadata_lag_ms = 500
    reassign(cluster, 1, 2, 3)
    cluster.run(ms=5_000)
    assert ongoing(cluster) == []
    assert cluster.values(3) == [1]


def test_a_reassignment_goes_on_for_a_moment_however_little_there_is_to_copy(replicas: Make) -> None:
    cluster = replicas(replication_factor=1)
    reassign(cluster, 2)
    cluster.run(ms=20)
    assert ongoing(cluster) == [([2, 1], [2], [1])]
    cluster.run(ms=20)
    assert ongoing(cluster) == []


def test_a_cluster_that_is_closed_meanwhile_leaves_nothing_behind(replicas: Make) -> None:
    cluster = replicas(replication_factor=1)
    reassign(cluster, 2)
    cluster.run(ms=10)
    cluster.cluster.close()
    cluster.run(ms=1_000)
    assert ongoing(cluster) == [([2, 1], [2], [1])]


# Reverted reassignments.


def test_a_reassignment_that_is_taken_back_leaves_the_old_replicas(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    moving(cluster)
    assert reassign(cluster, cancel=True).error_code is ErrorCode.NONE
    cluster.run(ms=100)
    assert ongoing(cluster) == []
    assert registration(cluster).replicas == (1, 2)
    assert registration(cluster).isr == (1, 2)
    assert cluster.cluster.log_of(3, *cluster.topic) is None
    assert reassign(cluster, cancel=True).error_code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    cluster.release_fetches(3)
    cluster.settle()


def test_another_target_takes_the_place_of_the_first(replicas: Make) -> None:
    cluster = replicas(replication_factor=2, brokers=4)
    moving(cluster)
    reassign(cluster, 1, 4)
    assert ongoing(cluster)[0] == ([1, 4, 2, 3], [4], [2, 3])
    cluster.run(ms=2_000)
    assert ongoing(cluster) == []
    assert registration(cluster).replicas == (1, 4)


def test_a_factor_that_is_held_fast_counts_without_the_replicas_that_come(replicas: Make) -> None:
    cluster = replicas(replication_factor=2, brokers=4)
    moving(cluster)
    refused = reassign(cluster, 1, may_change_factor=False)
    assert refused.error_code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert refused.error_message == "The replication factor is changed from 2 to 1"
    assert reassign(cluster, 1, 4, may_change_factor=False).error_code is ErrorCode.NONE


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_changes_of_mind_go_as_real_brokers_go_that_are_throttled(replicas: Make, release: str) -> None:
    cluster = replicas(replication_factor=1, release=release)
    cluster.produce(1)
    cluster.hold_fetches(2, 3)
    # Each step: the target (none: take it back), then the error, what is listed, and replicas and leader epoch.
    for target, error, listed, expected in (
        ([3], 0, [([3, 1], [3], [1])], ((3, 1), 0)),
        ([3, 2], 0, [([3, 2, 1], [2], [1])], ((3, 2, 1), 0)),
        ([2, 3], 0, [([2, 3, 1], [2], [1])], ((2, 3, 1), 0)),
        ([1], 0, [([1, 2, 3], [2], [2, 3])], ((1, 2, 3), 0)),
        ([2], 0, [([2, 1, 3], [2], [1, 3])], ((2, 1, 3), 0)),
        (None, 0, [], ((1, 3), 1)),
        (None, 85, [], ((1, 3), 1)),
    ):
        response = reassign(cluster, *(target or ()), cancel=target is None)
        assert response.error_code == error
        assert ongoing(cluster) == listed
        assert (registration(cluster).replicas, registration(cluster).leader_epoch) == expected


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_a_partition_that_is_named_twice_is_changed_twice_from_one_beginning(replicas: Make, release: str) -> None:
    cluster = replicas(replication_factor=1, release=release)
    cluster.produce(1)
    cluster.hold_fetches(2, 3)
    controller = cluster.cluster.controller
    for targets, errors, listed, epoch in (
        (([2], [3]), [0, 0], [([3, 1], [3], [1])], 0),
        ((None, None), [0, 0], [], 2),
        (([2, 3], None), [0, 85], [([2, 3, 1], [2, 3], [1])], 2),
        ((None, [3, 1]), [0, 0], [([3, 1, 2], [], [2])], 3),
    ):
        wanted = [ReassignablePartition(partition_index=0, replicas=target) for target in targets]
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=1_000, topics=[ReassignableTopic(name="t", partitions=wanted)]
        )
        response = controller.controls.partitions.reassign(request)
        assert [each.error_code for each in response.responses[0].partitions] == errors
        assert ongoing(cluster) == listed
        assert registration(cluster).leader_epoch == epoch
    # No replica is added any more: 3.7 ends it with any next change, 4.x waits for broker 3.
    election = ElectLeadersRequest(
        topic_partitions=[TopicPartitions(topic="t", partitions=[0])], election_type=0, timeout_ms=1_000
    )
    elected = controller.controls.partitions.elect(election).replica_election_results[0].partition_result[0]
    if release == "3.7.2":
        assert elected.error_code is ErrorCode.NONE
        assert (ongoing(cluster), registration(cluster).replicas) == ([], (3, 1))
        assert (cluster.leader(), registration(cluster).leader_epoch) == (1, 4)
    else:
        assert elected.error_code is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_a_revert_needs_an_unclean_election_when_no_former_replica_is_in_sync(replicas: Make) -> None:
    for unclean, expected in (("false", ErrorCode.INVALID_REPLICA_ASSIGNMENT), ("true", ErrorCode.NONE)):
        cluster = replicas(
            replication_factor=1,
            brokers=4,
            topic_config={"unclean.leader.election.enable": unclean},
            config={"replica.lag.time.max.ms": "2000"},
        )
        cluster.hold_fetches(4)
        cluster.hold_fetches(4, leader=3)
        reassign(cluster, 3, 4)
        cluster.run(ms=2_000)
        assert registration(cluster).isr == (1, 3)
        cluster.cluster.kill(1)
        cluster.run(ms=SESSION_MS + 500)
        assert (cluster.leader(), registration(cluster).isr) == (3, (3,))
        response = reassign(cluster, cancel=True)
        assert response.error_code is expected
        if unclean == "true":
            assert registration(cluster).replicas == (1,)
        else:
            message = (
                "Unable to revert partition assignment for t:0 because it would require an unclean leader election."
            )
            assert response.error_message == message


# Crashes.


def test_a_new_replica_that_crashes_holds_the_reassignment_up_until_it_is_back(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    moving(cluster)
    cluster.cluster.kill(3)
    cluster.run(ms=SESSION_MS + 1_000)
    assert ongoing(cluster) == [([1, 3, 2], [3], [2])]
    assert cluster.produce(4).error_code is ErrorCode.NONE
    cluster.release_fetches(3)
    cluster.cluster.restart(3)
    cluster.run(ms=5_000)
    assert ongoing(cluster) == []
    assert registration(cluster).replicas == (1, 3)
    assert cluster.values(3) == [1, 2, 3, 4]


def test_a_leader_that_crashes_on_the_way_loses_nothing_and_the_next_one_goes_on(replicas: Make) -> None:
    cluster = replicas(replication_factor=2, topic_config=MIN_ISR_2)
    moving(cluster)
    acknowledged = cluster.produce(4)
    assert acknowledged.error_code is ErrorCode.NONE
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 3_000)
    assert ongoing(cluster) == [], "all that is new is in sync"
    assert registration(cluster).replicas == (1, 3)
    assert (cluster.leader(), registration(cluster).isr) == (3, (3,))
    assert cluster.values(3) == [1, 2, 3, 4]
    assert cluster.produce(5, broker=3).error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    cluster.cluster.restart(1)
    cluster.run(ms=10_000)
    cluster.release_fetches(3)
    cluster.settle()
    assert cluster.values(1) == cluster.values(3) == [1, 2, 3, 4]


def test_a_removed_replica_that_crashes_blocks_no_reassignment(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    moving(cluster)
    cluster.cluster.kill(2)
    cluster.release_fetches(3)
    cluster.run(ms=SESSION_MS + 1_000)
    assert registration(cluster).replicas == (1, 3)
    assert registration(cluster).isr == (1, 3)
    cluster.cluster.restart(2)
    cluster.settle()
    assert cluster.cluster.broker(2).replica_manager.partitions == {}


def test_a_leader_that_changes_by_a_reassignment_is_an_election_in_the_journal(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    reassign(cluster, 2, 3)
    cluster.run(ms=2_000)
    elected = cluster.journal.events_of(LeaderElected)[-1]
    assert (elected.previous_leader, elected.broker_id, elected.leader_epoch) == (1, 2, 1)


# The steps as functions.


def partition(*replica_ids: int, isr: tuple[int, ...] = (), **fields: Any) -> PartitionRegistration:
    return PartitionRegistration(
        replicas=replica_ids,
        isr=isr or replica_ids,
        leader=replica_ids[0],
        leader_epoch=0,
        partition_epoch=0,
        **fields,
    )


@pytest.mark.parametrize(
    ("current", "target", "expected"),
    [
        ((1, 2), (2, 1), Assignment(replicas=(2, 1))),
        ((1, 2), (3, 1), Assignment(replicas=(3, 1, 2), adding=(3,), removing=(2,))),
        ((2, 1), (4, 3), Assignment(replicas=(4, 3, 1, 2), adding=(3, 4), removing=(1, 2))),
        ((1, 2, 3), (1,), Assignment(replicas=(1, 2, 3), removing=(2, 3))),
    ],
)
def test_the_first_step_has_all_replicas(current: Any, target: Any, expected: Assignment) -> None:
    assert towards(partition(*current), target) == expected


@pytest.mark.parametrize(
    ("isr", "ends"),
    [((1, 2), False), ((1, 2, 3), True), ((3,), True), ((1, 3), True), ((2,), False), ((), False)],
)
def test_a_reassignment_ends_with_an_isr_that_has_all_who_come(isr: tuple[int, ...], ends: bool) -> None:
    going = Assignment(replicas=(1, 3, 2), adding=(3,), removing=(2,))
    done = (Assignment(replicas=(1, 3)), tuple(each for each in isr if each != 2))
    assert going.completed(isr, shrinks_safely=True) == (done if ends else (going, isr))


@pytest.mark.parametrize("safely", [True, False])
def test_where_fewer_come_than_go_4_x_waits_for_all_who_stay(safely: bool) -> None:
    going = Assignment(replicas=(1, 3, 2, 4), adding=(3,), removing=(2, 4))
    ended = (Assignment(replicas=(1, 3)), (3,))
    assert going.completed((2, 3), shrinks_safely=safely) == ((going, (2, 3)) if safely else ended)
    assert going.completed((1, 2, 3), shrinks_safely=safely) == (Assignment(replicas=(1, 3)), (1, 3))


def test_nothing_that_goes_on_cannot_end() -> None:
    still = assignment_of(partition(1, 2))
    assert not still.in_progress
    assert still.completed((1,), shrinks_safely=True) == (still, (1,))


def test_a_revert_trusts_the_first_replica_when_none_is_in_sync() -> None:
    going = partition(3, 1, 2, isr=(3,), adding_replicas=(3,), removing_replicas=(1, 2))
    assert (revert(going).assignment, revert(going).isr, revert(going).unclean) == (
        Assignment(replicas=(1, 2)),
        (1,),
        True,
    )
