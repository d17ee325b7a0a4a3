from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.cluster_state import broker_status
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.control.events import ControllerElected, ZooKeeperSessionExpired
from broker_sim.errors import BrokerSimError, ConfigError
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

RELEASES = ("0.8.2", "0.10.2", "1.1", "2.3", "2.8", "3.7.2")
TOPIC = TopicSpec(name="u", partitions=2, replication_factor=3)


@pytest.mark.parametrize(
    ("release", "named", "zookeeper"),
    [
        ("3.2", False, True),
        ("3.3", False, False),
        ("3.3", True, True),
        ("3.7.2", False, False),
        ("3.7.2", True, True),
        ("3.9", True, True),
        ("4.3.1", False, False),
    ],
)
def test_releases_before_3_3_and_those_that_name_a_zookeeper_have_one(
    release: str, named: bool, zookeeper: bool
) -> None:
    config = BrokerConfig.parse({"zookeeper.connect": "zookeeper:2181"} if named else {}, release=release)
    assert config.behaviour.zookeeper is zookeeper
    assert (4 in config.release_table.api_versions) is zookeeper, "LeaderAndIsr"


@pytest.mark.parametrize("release", ["4.0", "4.3.1"])
def test_a_release_without_zookeeper_refuses_one(release: str) -> None:
    with pytest.raises(ConfigError, match=r"zookeeper\.connect: release 4\..* has no ZooKeeper mode"):
        BrokerConfig.parse({"zookeeper.connect": "zookeeper:2181"}, release=release)


@pytest.mark.parametrize("release", RELEASES)
def test_a_cluster_starts_with_its_first_broker_as_controller(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    assert cluster.cluster.pending() == []
    assert cluster.zookeeper.controller_id == 1
    assert [cluster.broker(each).active_controller_id for each in (1, 2, 3)] == [1, 1, 1]
    assert [cluster.broker(each).controller.is_active for each in (1, 2, 3)] == [True, False, False]
    assert cluster.requests("LeaderAndIsr") == [], "it began at rest"
    responses = cluster.send(1, 1, acks=-1)
    cluster.run(ms=100)
    assert [(response.error_code, response.base_offset) for response in responses] == [(0, 0)]
    assert [cluster.end(each) for each in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize("release", RELEASES)
def test_the_controller_makes_topics_by_pushing_them_in_its_versions(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    created = cluster.cluster.create_topic(TOPIC)
    cluster.run(ms=10)
    assert created.called
    assert cluster.cluster.pending() == []
    versions = cluster.broker(1).release.api_versions
    for broker_id in (1, 2, 3):
        (roles,) = cluster.requests("LeaderAndIsr", broker=broker_id)
        (knowledge,) = cluster.requests("UpdateMetadata", broker=broker_id)
        assert (roles.client_id, knowledge.client_id) == ("broker-1", "broker-1")
        assert (roles.api_version, knowledge.api_version) == (versions[4].highest, versions[6].highest)
        assert roles.request_id < knowledge.request_id, "first who leads, then who knows"


@pytest.mark.parametrize("release", RELEASES)
def test_a_dead_controller_is_succeeded_when_its_session_expires(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    cluster.cluster.kill(1)
    cluster.run(ms=cluster.zookeeper.session_timeout_ms - 100)
    assert (cluster.zookeeper.controller_id, cluster.replicas.leader()) == (1, 1)
    cluster.run(ms=2_000)
    assert (cluster.zookeeper.controller_id, cluster.zookeeper.controller_epoch) == (2, 2)
    assert (cluster.replicas.leader(), cluster.replicas.isr()) == (2, (2, 3))
    assert [cluster.known_leader(each, "t", 0)[0] for each in (2, 3)] == [2, 2]
    (expired,) = cluster.cluster.journal.events_of(ZooKeeperSessionExpired)
    (elected,) = cluster.cluster.journal.events_of(ControllerElected)[1:]
    assert (expired.broker_id, elected.broker_id) == (1, 2)


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_that_comes_back_joins_the_isr_and_knows_everything(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    cluster.cluster.kill(3)
    back = cluster.cluster.restart(3)
    cluster.run(ms=1_000)
    assert not back.called, "its earlier session still holds the broker id"
    cluster.run_out_session()
    assert back.called
    cluster.replicas.settle()
    assert set(cluster.replicas.isr()) == {1, 2, 3}


@pytest.mark.parametrize("release", RELEASES)
def test_a_controlled_shutdown_moves_the_leaderships_first(zookeeper_cluster: Callable[..., Any], release: str) -> None:
    cluster = zookeeper_cluster(release, partitions=3)
    stopped = cluster.cluster.stop(2)
    cluster.run(ms=200)
    assert stopped.called
    assert cluster.cluster.leader_of("t", 1) == 3
    (requested,) = cluster.requests("ControlledShutdown", broker=1)
    assert requested.client_id == "broker-2"
    cluster.run(ms=200)
    assert 2 not in cluster.zookeeper.image.brokers, "the session ends with the process, not with a time-out"
    assert [cluster.broker(each).metadata_cache.image.brokers.keys() for each in (1, 3)] == [{1, 3}, {1, 3}]


@pytest.mark.parametrize("release", RELEASES)
def test_all_brokers_can_be_restarted_one_by_one(zookeeper_cluster: Callable[..., Any], release: str) -> None:
    cluster = zookeeper_cluster(release, partitions=3)
    done = cluster.cluster.rolling_restart()
    cluster.run(ms=120_000)
    assert done.called
    assert cluster.cluster.pending() == []
    assert cluster.zookeeper.controller_epoch > 1


@pytest.mark.parametrize("release", ["1.1", "2.3", "2.8", "3.7.2"])
def test_a_topic_is_deleted_at_every_replica(zookeeper_cluster: Callable[..., Any], release: str) -> None:
    cluster = zookeeper_cluster(release)
    deleted = cluster.cluster.delete_topic("t")
    cluster.run(ms=100)
    assert deleted.called
    for broker_id in (1, 2, 3):
        assert "t" not in cluster.broker(broker_id).metadata_cache.image.topics
        assert cluster.cluster.log_of(broker_id, "t", 0) is None
        assert cluster.requests("StopReplica", broker=broker_id)


def test_a_deletion_fails_where_topics_cannot_be_deleted(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("0.8.2")
    with pytest.raises(BrokerSimError, match=r"delete\.topic\.enable is false"):
        cluster.cluster.delete_topic("t")


@pytest.mark.parametrize("release", RELEASES)
def test_preferred_leaders_come_back_by_the_controllers_timer(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release, config={"auto.leader.rebalance.enable": "true"})
    cluster.cluster.kill(1)
    cluster.run_out_session()
    cluster.cluster.restart(1)
    cluster.replicas.settle(within_ms=60_000)
    assert cluster.replicas.leader() == 2
    cluster.run(ms=310_000)
    assert cluster.replicas.leader() == 1
    assert cluster.zookeeper.controller_id == 2


def test_two_runs_of_one_seed_are_the_same(zookeeper_cluster: Callable[..., Any]) -> None:
    digests = []
    for _ in range(2):
        cluster = zookeeper_cluster("2.3", seed=7, link_delay_ms=3.0)
        cluster.cluster.create_topic(TOPIC)
        cluster.cluster.kill(1)
        cluster.run(ms=30_000)
        digests.append(cluster.replicas.world.digest.hexdigest())
    assert digests[0] == digests[1]


def test_a_cluster_names_and_kills_its_controller(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3").cluster
    assert cluster.active_controller == 1
    assert cluster.kill_controller() == 1
    assert not cluster.broker(1).alive
    assert cluster.active_controller == 1, "its session has not ended yet"


def test_everybody_can_be_cut_off_from_zookeeper(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3")
    cluster.cluster.isolate(2181)
    cluster.run_out_session()
    assert cluster.cluster.active_controller is None
    assert not cluster.zookeeper.image.brokers
    assert cluster.broker(1).partition(TopicPartition("t", 0)).is_leader, "data flows on"
    responses = cluster.send(1, 1, acks=-1)
    cluster.run(ms=100)
    assert [response.error_code for response in responses] == [0]
    cluster.cluster.rejoin(2181)
    cluster.replicas.settle(within_ms=60_000)
    assert cluster.cluster.active_controller is not None


@pytest.mark.parametrize("release", ["1.1", "2.8"])
def test_a_topic_on_a_broker_that_does_not_exist_hinders_no_other_topic(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    cluster = zookeeper_cluster(release)
    lost = [CreatableReplicaAssignment(partition_index=0, broker_ids=[1001])]
    topic = CreatableTopic(name="lost", num_partitions=-1, replication_factor=-1, assignments=lost)
    calls = PlainCalls(cluster.broker(1))
    responded = calls.call(CreateTopicsRequest(topics=[topic], timeout_ms=500), 2, client_id="c")
    response = cluster.replicas.world.run_until(responded, deadline_ms=2_000)
    assert [each.error_code for each in response.topics] == [ErrorCode.REQUEST_TIMED_OUT]
    created = cluster.cluster.create_topic(TOPIC)
    cluster.run(ms=100)
    assert created.called
    assert cluster.cluster.pending() == ["lost-0 has no leader"]
    assert sum(each.replicas for each in broker_status(cluster.cluster)) == len((1, 2, 3)) * (1 + TOPIC.partitions)


def test_several_controllers_are_refused_where_a_broker_is_the_controller() -> None:
    world = World(1)
    with pytest.raises(BrokerSimError, match=r"controllers: release 2\.3\.1 has ZooKeeper"):
        Cluster(reactor=world.reactor, streams=world.streams, controllers=3, release="2.3", listen=False)


def test_a_tool_of_before_2_4_reassigns_by_zookeeper(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("1.1", brokers=4, replication_factor=2)
    cluster.send(1, 1)
    cluster.zookeeper.request_reassignment({TopicPartition("t", 0): [3, 4]})
    cluster.replicas.settle()
    registration = cluster.cluster.registration_of("t", 0)
    assert (registration.replicas, set(registration.isr)) == ((3, 4), {3, 4})
    assert registration.leader in (3, 4)
    assert cluster.zookeeper.reassignments() == {}
    assert cluster.cluster.log_of(1, "t", 0) is None
    assert cluster.end(3) == cluster.end(4) == 1


def test_a_reassignment_goes_on_under_the_next_controller(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3", brokers=4, replication_factor=2)
    cluster.hold(4, 1)
    cluster.hold(4, 2)
    cluster.send(1, 1)
    cluster.zookeeper.request_reassignment({TopicPartition("t", 0): [2, 4]})
    cluster.run(ms=200)
    assert cluster.cluster.registration_of("t", 0).is_reassigning
    cluster.cluster.kill(1)
    cluster.release(4, 1)
    cluster.release(4, 2)
    cluster.run_out_session()
    cluster.run(ms=30_000)
    registration = cluster.cluster.registration_of("t", 0)
    assert (registration.replicas, set(registration.isr), registration.is_reassigning) == ((2, 4), {2, 4}, False)


def test_a_changed_configuration_reaches_every_broker_by_its_watch(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3")
    topic = replace(cluster.zookeeper.image.topics["t"], configs={"min.insync.replicas": "3"})
    cluster.zookeeper.change("a tool", lambda image: image.with_topic(topic))
    cluster.run(ms=10)
    for broker_id in (1, 2, 3):
        assert cluster.broker(broker_id).metadata_cache.image.topics["t"].configs == {"min.insync.replicas": "3"}
        assert cluster.cluster.log_of(broker_id, "t", 0).config.min_insync_replicas == 3
