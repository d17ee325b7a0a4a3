"""The races that brokers with a pushing controller have, each with what ends it. Ids are those of anomalies.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import TopicSpec
from broker_sim.control.events import IsrChanged, LogTruncated
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.stop_replica import StopReplicaRequest

if TYPE_CHECKING:
    from collections.abc import Callable

RELEASES = ("0.8.2", "0.10.2", "1.1", "2.3", "2.8", "3.7.2")


def errors(responses: list[Any]) -> list[ErrorCode]:
    return [ErrorCode(response.error_code) for response in responses]


@pytest.mark.parametrize("release", RELEASES)
def test_metadata_is_stale_at_a_broker_whose_update_is_slow(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release, partitions=3)
    cluster.hold(1, 3)
    cluster.cluster.kill(2)
    cluster.run_out_session()
    assert cluster.cluster.leader_of("t", 1) == 3
    assert cluster.known_leader(1, "t", 1) == (3, 1)
    assert cluster.known_leader(3, "t", 1) == (2, 0), "no update has reached it, not even that it leads"
    assert 2 in cluster.broker(3).metadata_cache.image.brokers
    assert errors(cluster.send(3, 7, partition=1)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    cluster.release(1, 3)
    cluster.run(ms=10)
    assert cluster.known_leader(3, "t", 1) == (3, 1)
    assert errors(cluster.send(3, 7, partition=1)) == [ErrorCode.NONE]


def test_a_broker_may_lead_before_it_knows_that_it_does(zookeeper_cluster: Callable[..., Any]) -> None:
    """LeaderAndIsr comes before UpdateMetadata: between the two the metadata names the leader before."""
    cluster = zookeeper_cluster("2.3", partitions=3)
    seen: list[tuple[tuple[int, int], list[ErrorCode]]] = []
    broker = cluster.broker(3)
    become = broker.control.leader_and_isr

    def looked_at(request: Any, version: int) -> Any:
        response = become(request, version)
        seen.append((cluster.known_leader(3, "t", 1), errors(cluster.send(3, 7, partition=1))))
        return response

    broker.control.leader_and_isr = looked_at  # type: ignore[method-assign]
    cluster.cluster.kill(2)
    cluster.run_out_session()
    assert seen[0] == ((2, 0), [ErrorCode.NONE])
    assert cluster.known_leader(3, "t", 1) == (3, 1)


@pytest.mark.parametrize("release", ["0.10.2", "1.1", "2.3", "2.8", "3.7.2"])
def test_a_deposed_leader_that_does_not_know_its_successor_takes_records_and_loses_them(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    """isolated-leader-acks1: two leaders for a while; no node writes the ISR of the old one any more."""
    cluster = zookeeper_cluster(release, partitions=3, config={"replica.lag.time.max.ms": "2000"})
    cluster.cluster.kill(2)
    cluster.run_out_session()
    cluster.cluster.restart(2)
    cluster.replicas.settle()
    assert cluster.cluster.leader_of("t", 1) == 3
    cluster.hold(1, 3)
    cluster.zookeeper.request_preferred_election([TopicPartition("t", 1)])
    cluster.run(ms=100)
    registration = cluster.cluster.registration_of("t", 1)
    assert registration.leader == 2
    assert errors(cluster.send(2, 1, partition=1)) == [ErrorCode.NONE]
    assert errors(cluster.send(3, 2, partition=1)) == [ErrorCode.NONE], "the old leader leads on"
    waiting = cluster.send(3, 3, acks=-1, partition=1)
    cluster.run(ms=6_000)
    assert errors(waiting) == [ErrorCode.REQUEST_TIMED_OUT], "no follower replicates from it"
    old = cluster.broker(3).partition(TopicPartition("t", 1))
    assert old.is_leader
    assert set(old.isr) == {1, 2, 3}, "it cannot shrink its ISR: what it would replace is not there any more"
    assert 3 not in cluster.cluster.registration_of("t", 1).isr, "the new leader could"
    shrunk_by_the_old_one = [
        event for event in cluster.cluster.journal.events_of(IsrChanged) if event.partition == 1 and event.isr == (3,)
    ]
    assert shrunk_by_the_old_one == []
    cluster.release(1, 3)
    cluster.replicas.settle()
    assert [cluster.end(each, 1) for each in (1, 2, 3)] == [1, 1, 1]
    assert any(event.broker_id == 3 for event in cluster.cluster.journal.events_of(LogTruncated))


@pytest.mark.parametrize("release", RELEASES)
def test_requests_of_a_succeeded_controller_are_refused(zookeeper_cluster: Callable[..., Any], release: str) -> None:
    cluster = zookeeper_cluster(release)
    responded: list[tuple[int, int]] = []
    broker = cluster.broker(3)
    become = broker.control.leader_and_isr

    def looked_at(request: Any, version: int) -> Any:
        response = become(request, version)
        responded.append((request.controller_epoch, response.error_code))
        return response

    broker.control.leader_and_isr = looked_at  # type: ignore[method-assign]
    cluster.hold(1, 3)
    cluster.cluster.create_topic(TopicSpec(name="u", partitions=1, replication_factor=3))
    cluster.run(ms=100)
    assert cluster.broker(3).partition(TopicPartition("u", 0)) is None
    cluster.cut_from_zookeeper(1)
    cluster.run_out_session()
    assert cluster.zookeeper.controller_id == 2
    assert cluster.broker(1).controller.is_active, "the zombie has not noticed"
    assert cluster.broker(3).control.controller_epoch == 2
    assert responded[0] == (2, ErrorCode.NONE)
    before = cluster.broker(3).partition(TopicPartition("u", 0)).leader_epoch
    cluster.release(1, 3)
    cluster.run(ms=100)
    assert (1, ErrorCode.STALE_CONTROLLER_EPOCH) in responded
    assert cluster.broker(3).partition(TopicPartition("u", 0)).leader_epoch == before
    assert cluster.broker(3).active_controller_id == 2
    cluster.back_to_zookeeper(1)
    cluster.replicas.settle()
    assert not cluster.broker(1).controller.is_active
    assert cluster.broker(1).active_controller_id == 2


@pytest.mark.parametrize("release", RELEASES)
def test_a_topic_that_a_dying_controller_has_begun_is_finished_by_the_next(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release, partitions=3)
    cluster.hold(1, 2)
    cluster.hold(1, 3)
    cluster.cluster.create_topic(TopicSpec(name="u", partitions=3, replication_factor=3))
    cluster.run(ms=50)
    assert cluster.cluster.leader_of("u", 1) == 2, "it is decided"
    assert cluster.broker(2).partition(TopicPartition("u", 1)) is None, "but not sent"
    cluster.cluster.kill(1)
    cluster.release(1, 2)
    cluster.release(1, 3)
    cluster.run_out_session()
    assert cluster.zookeeper.controller_id in (2, 3)
    for index in range(3):
        leader = cluster.cluster.leader_of("u", index)
        assert leader in (2, 3)
        assert cluster.broker(leader).partition(TopicPartition("u", index)).is_leader
        assert [cluster.known_leader(each, "u", index)[0] for each in (2, 3)] == [leader, leader]


@pytest.mark.parametrize("release", RELEASES)
def test_an_unfinished_topic_is_made_by_the_next_controller(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    cluster.cluster.kill(1)
    cluster.cluster.create_topic(TopicSpec(name="u", partitions=1, replication_factor=2))
    cluster.run(ms=1_000)
    assert cluster.cluster.leader_of("u", 0) is None
    assert "u" not in cluster.broker(2).metadata_cache.image.topics
    cluster.run_out_session()
    assert cluster.cluster.leader_of("u", 0) == 2, "broker 1, its preferred leader, is dead"


@pytest.mark.parametrize("release", ["1.1", "2.3", "2.8", "3.7.2"])
def test_a_deletion_goes_on_under_the_next_controller_once_all_replicas_are_there(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    cluster.hold(1, 3)
    deleted = cluster.cluster.delete_topic("t")
    cluster.run(ms=100)
    assert not deleted.called
    assert cluster.cluster.log_of(2, "t", 0) is None
    assert cluster.cluster.log_of(3, "t", 0) is not None, "its StopReplica is still on the way"
    cluster.cluster.kill(1)
    cluster.release(1, 3)
    cluster.run_out_session()
    assert not deleted.called, "a dead replica keeps the topic"
    assert "t" in cluster.zookeeper.image.topics
    cluster.cluster.restart(1)
    cluster.run(ms=10_000)
    assert deleted.called
    assert [cluster.cluster.log_of(each, "t", 0) for each in (1, 2, 3)] == [None, None, None]
    assert cluster.cluster.pending() == []


@pytest.mark.parametrize(("release", "left"), [("0.8.2", 1), ("0.10.2", 1), ("0.11.0", 2), ("2.3", 2), ("3.7.2", 2)])
def test_truncation_to_the_high_watermark_loses_what_was_acknowledged(
    zookeeper_cluster: Callable[..., Any], release: str, left: int
) -> None:
    """hw-truncation-loss: a follower that has everything cuts to the high watermark that it knows, and then leads."""
    cluster = zookeeper_cluster(release)
    first = cluster.send(1, 1, acks=-1)
    cluster.run(ms=2_000)
    second = cluster.send(1, 2, acks=-1)
    cluster.run(ms=5)
    assert errors([*first, *second]) == [ErrorCode.NONE, ErrorCode.NONE]
    assert cluster.replicas.high_watermark(1) == 2
    assert cluster.replicas.high_watermark(2) == 1, "the follower receives it with its next Fetch"
    cluster.hold(2, 1)
    cluster.cluster.stop(3)
    cluster.run(ms=50)
    assert cluster.broker(2).partition(TopicPartition("t", 0)).leader_epoch == 1, "a new epoch, the same leader"
    cluster.cluster.kill(1)
    cluster.run_out_session()
    assert cluster.cluster.leader_of("t", 0) == 2, "it was in the ISR: the election is clean"
    assert cluster.end(2) == left


@pytest.mark.parametrize(("release", "leader"), [("0.10.2", 2), ("0.11.0", None), ("2.3", None)])
def test_an_unclean_election_was_the_default_before_0_11(
    zookeeper_cluster: Callable[..., Any], release: str, leader: int | None
) -> None:
    """unclean-election-loss"""
    cluster = zookeeper_cluster(release, config={"replica.lag.time.max.ms": "2000"})
    cluster.hold(2, 1)
    cluster.hold(3, 1)
    assert errors(cluster.send(1, 1)) == [ErrorCode.NONE]
    cluster.run(ms=4_000)
    assert cluster.replicas.isr() == (1,)
    cluster.cluster.kill(1)
    cluster.release(2, 1)
    cluster.release(3, 1)
    cluster.run_out_session()
    assert cluster.replicas.leader() == leader


def test_a_stale_broker_epoch_is_distinguished_from_a_new_one(zookeeper_cluster: Callable[..., Any]) -> None:
    """KIP-380: what was meant for an earlier life of a broker does not reach the next one."""
    cluster = zookeeper_cluster("2.3")
    old = cluster.broker(3).broker_epoch
    cluster.cluster.kill(3)
    cluster.cluster.restart(3)
    cluster.run_out_session()
    assert cluster.broker(3).broker_epoch > old
    request = StopReplicaRequest(controller_id=1, controller_epoch=1, broker_epoch=old)
    assert cluster.broker(3).control.stop_replica(request).error_code == ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_that_lost_its_session_alone_comes_back_by_itself(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    cluster.cut_from_zookeeper(3)
    cluster.run_out_session()
    assert set(cluster.replicas.isr()) == {1, 2}
    epoch = cluster.broker(3).broker_epoch
    cluster.back_to_zookeeper(3)
    cluster.replicas.settle(within_ms=60_000)
    assert cluster.broker(3).broker_epoch > epoch
    assert set(cluster.replicas.isr()) == {1, 2, 3}


@pytest.mark.parametrize("release", ["0.10.2", "2.3"])
def test_an_isr_that_a_leader_has_written_is_known_elsewhere_some_seconds_later(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release, config={"replica.lag.time.max.ms": "2000"})
    cluster.hold(3, 1)
    cluster.send(1, 1)
    cluster.run(ms=4_000)
    assert set(cluster.replicas.isr()) == {1, 2}
    known = cluster.broker(2).metadata_cache.image.partition("t", 0)
    assert set(known.isr) == {1, 2, 3}, "the controller has no report yet, so no broker has"
    cluster.run(ms=10_000)
    assert len(cluster.requests("ZooKeeperNotifyIsrChange")) >= 1
    assert set(cluster.broker(2).metadata_cache.image.partition("t", 0).isr) == set(cluster.replicas.isr())


@pytest.mark.parametrize("release", ["2.8", "3.7.2"])
def test_an_isr_that_the_controller_has_written_is_known_at_once(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release, config={"replica.lag.time.max.ms": "2000"})
    cluster.hold(3, 1)
    cluster.send(1, 1)
    cluster.run(ms=4_000)
    (requested, *_) = cluster.requests("AlterPartition", broker=1)
    assert requested.client_id == "broker-1"
    assert set(cluster.broker(2).metadata_cache.image.partition("t", 0).isr) == {1, 2}
    assert cluster.requests("ZooKeeperSetIsr") == []


@pytest.mark.parametrize(("release", "alive"), [("0.11.0", False), ("1.1", True), ("2.3", True), ("3.7.2", True)])
def test_a_failed_log_directory_takes_its_replicas_and_before_1_0_the_broker(
    zookeeper_cluster: Callable[..., Any], release: str, alive: bool
) -> None:
    cluster = zookeeper_cluster(release, partitions=2, config={"log.dirs": "/a,/b"})
    directories = cluster.broker(1).storage.directories
    failed = directories.of(TopicPartition("t", 0))
    assert directories.of(TopicPartition("t", 1)) != failed
    cluster.cluster.fail_log_dir(1, failed)
    cluster.run(ms=100)
    assert cluster.broker(1).alive is alive
    cluster.run_out_session()
    assert cluster.cluster.leader_of("t", 0) == 2
    assert cluster.cluster.registration_of("t", 0).isr == (2, 3)
    assert (1 in cluster.cluster.registration_of("t", 1).isr) is alive
    if alive:
        known = cluster.broker(3).metadata_cache.image.partition("t", 0)
        assert known.leader == 2
        assert len(cluster.requests("ZooKeeperNotifyLogDirEvent")) == 1
