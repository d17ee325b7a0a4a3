"""Requested elections: the elected leaders, the errors and their texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker_sim.control.events import LeaderElected
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

Make = Any
SESSION_MS = 9_000
PREFERRED, UNCLEAN = 0, 1


def elect(cluster: Any, election_type: int, *partitions: int, everything: bool = False) -> list[tuple[int, int, Any]]:
    """Partition, error and words of each result for the topic."""
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=None if everything else [TopicPartitions(topic="t", partitions=list(partitions or (0,)))],
        timeout_ms=1_000,
    )
    response = cluster.cluster.controller.controls.partitions.elect(request)
    (topic,) = response.replica_election_results
    return [(each.partition_id, each.error_code, each.error_message) for each in topic.partition_result]


def test_the_preferred_leader_leads_again_after_its_crash(replicas: Make) -> None:
    cluster = replicas(config={"auto.leader.rebalance.enable": "false"})
    cluster.produce(1)
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 500)
    assert cluster.leader() == 2
    assert elect(cluster, PREFERRED) == [
        (0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
    ]
    cluster.cluster.restart(1)
    cluster.settle()
    assert cluster.leader() == 2
    assert elect(cluster, PREFERRED) == [(0, ErrorCode.NONE, None)]
    assert cluster.leader() == 1
    assert elect(cluster, PREFERRED) == [
        (0, ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    ]
    cluster.settle()
    assert cluster.produce(2, broker=1).base_offset == 1
    assert cluster.values(2) == cluster.values(3) == [1, 2]


def test_an_election_of_everything_leaves_out_what_needs_none(replicas: Make) -> None:
    cluster = replicas(partitions=3, config={"auto.leader.rebalance.enable": "false"})
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 500)
    cluster.cluster.restart(1)
    cluster.settle()
    assert elect(cluster, PREFERRED, everything=True) == [(0, ErrorCode.NONE, None)]
    assert elect(cluster, PREFERRED, everything=True) == []


def test_a_partition_that_is_named_twice_has_two_elections_from_one_beginning(replicas: Make) -> None:
    cluster = replicas(config={"auto.leader.rebalance.enable": "false"})
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 500)
    cluster.cluster.restart(1)
    cluster.settle()
    epoch = cluster.cluster.registration_of(*cluster.topic).leader_epoch
    assert [error for _, error, _ in elect(cluster, PREFERRED, 0, 0)] == [ErrorCode.NONE, ErrorCode.NONE]
    assert cluster.cluster.registration_of(*cluster.topic).leader_epoch == epoch + 2


def without_replicas_in_sync(cluster: Any) -> None:
    """Broker 3 falls out of the ISR, then 1 and 2, which are in it, die, and 3 lives."""
    cluster.produce(1)
    cluster.run(ms=600)
    cluster.cluster.links.link(1, 3).hold()
    cluster.produce(2, acks=1)
    cluster.run(ms=4_000)
    assert cluster.isr() == (1, 2)
    cluster.cluster.kill(2)
    cluster.cluster.kill(1)
    cluster.cluster.links.link(1, 3).release()
    cluster.run(ms=SESSION_MS + 500)
    assert cluster.leader() is None


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_an_unclean_election_elects_a_live_replica_and_is_reported(replicas: Make, release: str) -> None:
    cluster = replicas(release=release, config={"replica.lag.time.max.ms": "2000"})
    without_replicas_in_sync(cluster)
    assert elect(cluster, PREFERRED)[0][1] is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert elect(cluster, UNCLEAN) == [(0, ErrorCode.NONE, None)]
    assert (cluster.leader(), cluster.isr()) == (3, (3,))
    elected = cluster.journal.events_of(LeaderElected)[-1]
    assert (elected.broker_id, elected.unclean) == (3, True)
    cluster.cluster.restart(1)
    cluster.cluster.restart(2)
    cluster.settle()
    assert cluster.values(1) == cluster.values(2) == cluster.values(3) == [1]


@pytest.mark.parametrize(("release", "leader"), [("3.8.1", None), ("3.9.2", 2), ("4.3.1", 2)])
def test_a_topic_that_allows_unclean_elections_has_one_from_3_9_on(
    replicas: Make, release: str, leader: int | None
) -> None:
    config = {"unclean.leader.election.enable": "true"}
    cluster = replicas(release=release, replication_factor=2, topic_config=config)
    cluster.cluster.kill(2)
    cluster.run(ms=SESSION_MS + 500)
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 500)
    assert cluster.leader() is None
    cluster.cluster.restart(2)
    cluster.run(ms=5_000)
    assert cluster.leader() == leader


@pytest.mark.parametrize(("release", "leader"), [("3.7.2", None), ("4.3.1", 3)])
def test_a_topic_that_allows_it_too_late_has_its_unclean_election_within_five_minutes_of_4_x(
    replicas: Make, release: str, leader: int | None
) -> None:
    cluster = replicas(release=release, config={"replica.lag.time.max.ms": "2000"})
    without_replicas_in_sync(cluster)
    cluster.run(ms=300_000)
    assert cluster.leader() is None
    topic = replace(cluster.cluster.controller.image.topics["t"], configs={"unclean.leader.election.enable": "true"})
    cluster.cluster.controller.change("allow it", lambda image: image.with_topic(topic))
    cluster.run(ms=1_000)
    assert cluster.leader() is None
    cluster.run(ms=300_000)
    assert cluster.leader() == leader


def test_an_unclean_election_without_a_live_replica_elects_none(replicas: Make) -> None:
    cluster = replicas(replication_factor=1, brokers=2)
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 500)
    assert elect(cluster, UNCLEAN) == [
        (0, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")
    ]


def test_an_unclean_election_where_a_leader_is_changes_nothing(replicas: Make) -> None:
    cluster = replicas()
    assert elect(cluster, UNCLEAN)[0][1] is ErrorCode.ELECTION_NOT_NEEDED
    assert cluster.cluster.registration_of(*TopicPartition("t", 0)).leader_epoch == 0


def test_preferred_leaders_come_back_by_themselves_where_that_is_on(replicas: Make) -> None:
    cluster = replicas(config={"leader.imbalance.check.interval.seconds": "20"})
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 500)
    cluster.cluster.restart(1)
    cluster.settle()
    cluster.run(ms=20_000)
    assert cluster.leader() == 1
