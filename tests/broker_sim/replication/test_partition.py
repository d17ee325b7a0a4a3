"""A leader's partition: followers' fetches and the controller's responses, one step at a time."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import HighWatermarkAdvanced
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.replication.isr import IsrChange, committed, expanding
from broker_sim.replication.isr_proposals import AlteredPartition
from protocol_specs.error_codes import ErrorCode

Make = Any
LAG = {"replica.lag.time.max.ms": "2000"}


def with_isr_1_2(replicas: Make, **options: Any) -> Any:
    """Broker 3 has lagged and is out; its messages pass again, those of the controller to the leader do not."""
    cluster = replicas(config=LAG, **options)
    cluster.produce(0)
    cluster.cluster.links.link(3, 1).hold()
    cluster.produce(1, acks=1)
    cluster.run(ms=5_000)
    assert cluster.isr() == (1, 2)
    cluster.cluster.links.link(CONTROLLER_ID, 1).hold()
    return cluster


def test_the_high_watermark_waits_for_a_newcomer_whose_expansion_is_pending(replicas: Make) -> None:
    cluster = with_isr_1_2(replicas)
    cluster.cluster.links.link(3, 1).release()
    cluster.run(ms=10)
    partition = cluster.partition(1)
    assert (partition.isr, partition.isr_state.maximal_isr) == ((1, 2), (1, 2, 3))
    assert cluster.isr() == (1, 2, 3), "the controller has committed what the leader does not know yet"
    cluster.cluster.links.link(3, 1).hold()
    waiting = cluster.send(2, timeout_ms=60_000)
    cluster.run(ms=10_000)
    assert waiting == []
    assert cluster.high_watermark(1) == 2


def test_the_high_watermark_waits_for_a_leaver_until_the_shrink_is_committed(replicas: Make) -> None:
    cluster = replicas(config=LAG)
    cluster.produce(0)
    cluster.cluster.links.link(CONTROLLER_ID, 1).hold()
    cluster.cluster.links.link(1, 3).hold()
    waiting = cluster.send(1, timeout_ms=60_000)
    cluster.run(ms=4_000)
    partition = cluster.partition(1)
    assert partition.isr_state.change is IsrChange.SHRINK
    assert partition.isr_state.maximal_isr == (1, 2, 3)
    assert waiting == []
    cluster.cluster.links.link(CONTROLLER_ID, 1).release()
    cluster.run(ms=10)
    assert waiting[0].error_code is ErrorCode.NONE


def test_a_follower_behind_the_high_watermark_or_the_epoch_start_does_not_join(replicas: Make) -> None:
    cluster = with_isr_1_2(replicas)
    cluster.produce(2)
    partition = cluster.partition(1)
    follower = partition.followers[3]
    epoch = cluster.cluster.broker(3).broker_epoch
    for offset in (1, 2):
        partition.follower_fetched(follower, fetch_offset=offset, log_start_offset=0, broker_epoch=epoch)
        assert not partition.isr_state.in_flight
    partition.leader_epoch_start_offset = 5
    partition.follower_fetched(follower, fetch_offset=3, log_start_offset=0, broker_epoch=epoch)
    assert not partition.isr_state.in_flight
    partition.leader_epoch_start_offset = 3
    partition.follower_fetched(follower, fetch_offset=3, log_start_offset=0, broker_epoch=epoch)
    assert partition.isr_state.proposed_isr == (1, 2, 3)


def test_a_fetch_of_an_earlier_broker_epoch_does_not_join(replicas: Make) -> None:
    cluster = with_isr_1_2(replicas)
    partition = cluster.partition(1)
    partition.follower_fetched(partition.followers[3], fetch_offset=2, log_start_offset=0, broker_epoch=0)
    assert not partition.isr_state.in_flight


def test_a_fenced_broker_does_not_join_however_much_it_has(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.links.link(3, CONTROLLER_ID).cut()
    cluster.run(ms=10_000)
    assert cluster.isr() == (1, 2)
    assert cluster.produce(1).error_code is ErrorCode.NONE
    cluster.run(ms=10_000)
    assert cluster.values(3) == [0, 1]
    assert cluster.isr() == (1, 2)
    cluster.cluster.links.link(3, CONTROLLER_ID).restore()
    cluster.settle()
    assert cluster.isr() == (1, 2, 3)


def test_two_followers_that_return_together_join_one_after_the_other(replicas: Make) -> None:
    cluster = replicas(config=LAG)
    cluster.produce(0)
    cluster.hold_fetches(2, 3)
    cluster.produce(1, acks=1)
    cluster.produce(2, acks=1)
    cluster.run(ms=6_000)
    assert cluster.isr() == (1,)
    cluster.release_fetches(2, 3)
    cluster.run(ms=1_200)
    assert cluster.isr() == (1, 2, 3)


@pytest.mark.parametrize(
    ("error", "again", "state_kept"),
    [
        (ErrorCode.INELIGIBLE_REPLICA, False, False),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, False, False),
        (ErrorCode.INVALID_UPDATE_VERSION, False, True),
        (ErrorCode.FENCED_LEADER_EPOCH, False, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, False, True),
        (ErrorCode.NEW_LEADER_ELECTED, False, True),
        (ErrorCode.NOT_CONTROLLER, True, True),
    ],
)
def test_a_refused_proposal_is_dropped_awaited_or_made_again(
    replicas: Make, error: ErrorCode, again: bool, state_kept: bool
) -> None:
    partition = replicas().partition(1)
    partition.isr_state = state = expanding((1, 2), 3)
    response = AlteredPartition(topic_partition=partition.topic_partition, error_code=error)
    assert partition.proposal_finished(state, response) is again
    assert (partition.isr_state is state) is state_kept
    if not state_kept:
        assert (partition.isr, partition.isr_state.maximal_isr) == ((1, 2), (1, 2))


def test_a_response_to_an_outdated_proposal_changes_nothing(replicas: Make) -> None:
    partition = replicas().partition(1)
    late = expanding((1, 2), 3)
    partition.isr_state = now = committed((1, 2, 3))
    response = AlteredPartition(
        topic_partition=partition.topic_partition, leader_epoch=0, isr=(1, 2), partition_epoch=9
    )
    assert not partition.proposal_finished(late, response)
    assert partition.isr_state is now


def test_a_response_of_another_leader_epoch_or_an_older_partition_epoch_is_ignored(replicas: Make) -> None:
    partition = replicas().partition(1)
    partition.partition_epoch = 5
    for leader_epoch, partition_epoch in ((1, 6), (0, 4)):
        partition.isr_state = state = expanding((1, 2), 3)
        response = AlteredPartition(
            topic_partition=partition.topic_partition,
            leader_epoch=leader_epoch,
            isr=(1, 2, 3),
            partition_epoch=partition_epoch,
        )
        assert not partition.proposal_finished(state, response)
        assert partition.isr_state is state


def test_what_reached_its_offset_with_too_few_replicas_is_not_enough_after_append(replicas: Make) -> None:
    cluster = replicas(topic_config={"min.insync.replicas": "2"})
    cluster.produce(0)
    partition = cluster.partition(1)
    assert partition.enough_replicas_reached(1) is ErrorCode.NONE
    partition.isr_state = committed((1,))
    assert partition.enough_replicas_reached(1) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert partition.enough_replicas_reached(2) is None


def test_the_high_watermark_waits_for_who_is_caught_up_and_about_to_join(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    partition = cluster.partition(1)
    partition.isr_state = expanding((1,), 2)
    cluster.cluster.links.link(1, 3).hold()
    cluster.produce(1, acks=1)
    cluster.run(ms=10)
    assert partition.followers[2].log_end_offset == 2
    assert cluster.high_watermark(1) == 1, "broker 3 is in no ISR, but it fetches and is not behind for long"


def test_the_high_watermark_is_reported_once_for_each_move_of_the_leader(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.produce(1, 2)
    cluster.run(ms=2_000)
    moves = cluster.journal.events_of(HighWatermarkAdvanced)
    assert [(move.broker_id, move.high_watermark) for move in moves] == [(1, 1), (1, 3)]


def test_followers_learn_the_high_watermark_one_fetch_later(replicas: Make) -> None:
    cluster = replicas()
    cluster.run(ms=700)
    cluster.produce(0)
    assert (cluster.high_watermark(1), cluster.high_watermark(2)) == (1, 0)
    cluster.produce(1)
    assert (cluster.high_watermark(1), cluster.high_watermark(2)) == (2, 1)
    cluster.run(ms=500)
    assert cluster.high_watermark(2) == cluster.high_watermark(3) == 2


@pytest.mark.parametrize(("release", "advances"), [("3.6.2", True), ("3.7.2", False), ("4.3.1", False)])
def test_with_too_small_an_isr_the_high_watermark_moves_before_3_7_alone(
    replicas: Make, release: str, advances: bool
) -> None:
    cluster = replicas(release=release, brokers=2, replication_factor=2, topic_config={"min.insync.replicas": "2"})
    cluster.produce(0)
    cluster.cluster.kill(2)
    cluster.run(ms=60_000)
    assert cluster.isr() == (1,)
    cluster.produce(1, acks=1)
    assert cluster.high_watermark(1) == (2 if advances else 1)


@pytest.mark.parametrize(
    ("release", "taken"), [("0.11.0.3", False), ("2.8.2", False), ("3.6.2", False), ("3.7.2", True)]
)
def test_only_before_3_7_min_insync_replicas_may_exceed_the_replicas(replicas: Make, release: str, taken: bool) -> None:
    cluster = replicas(release=release, brokers=1, replication_factor=1, topic_config={"min.insync.replicas": "2"})
    assert cluster.cluster.metrics().value("UnderMinIsrPartitionCount", broker=1) == (0 if taken else 1)
    assert cluster.produce(0, acks=-1).error_code == (ErrorCode.NONE if taken else ErrorCode.NOT_ENOUGH_REPLICAS)
    assert cluster.produce(0, acks=1).error_code == ErrorCode.NONE
