"""A cluster with a data directory: what outlives a process, what power takes, and what the next cluster finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.cluster import Cluster
from broker_sim.errors import BrokerSimError
from broker_sim.log.files.errors import ForeignDirectory
from broker_sim.log.files.file_log import FileReplicaLog
from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World
from tests.broker_sim.conftest import Replicas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def disk() -> VirtualDisk:
    return VirtualDisk()


def test_nothing_acknowledged_by_two_is_lost_when_one_loses_power(disk: VirtualDisk) -> None:
    for seed in range(8):
        made = Replicas(disk=VirtualDisk(), topic_config={"min.insync.replicas": "2"}, seed=seed)
        acknowledged = list(range(20))
        for value in acknowledged:
            assert made.produce(value).error_code is ErrorCode.NONE
        made.cluster.lose_power(1)
        made.run(ms=12_000)
        assert made.leader() in (2, 3)
        made.produce(100, broker=made.leader() or 0)
        made.world.run_until(made.cluster.restart(1))
        made.settle()
        assert [made.values(broker) for broker in (1, 2, 3)] == [[*acknowledged, 100]] * 3
        made.world.run_until(made.cluster.close())


def test_a_lone_replica_loses_what_it_acknowledged_and_had_not_flushed() -> None:
    left = []
    for seed in range(6):
        made = Replicas(disk=VirtualDisk(), replication_factor=1, brokers=1, seed=seed)
        for value in range(20):
            assert made.produce(value).error_code is ErrorCode.NONE
        made.cluster.lose_power(1)
        made.run(ms=12_000)
        made.world.run_until(made.cluster.restart(1))
        made.run(ms=1_000)
        values = made.values(1)
        assert values == list(range(len(values)))
        left.append(len(values))
        assert made.produce(100).base_offset == len(values)
        made.world.run_until(made.cluster.close())
    assert min(left) < 20


def test_a_lone_replica_that_flushes_every_record_loses_none() -> None:
    made = Replicas(disk=VirtualDisk(), replication_factor=1, brokers=1, topic_config={"flush.messages": "1"})
    for value in range(20):
        made.produce(value)
    made.cluster.lose_power(1)
    made.run(ms=12_000)
    made.world.run_until(made.cluster.restart(1))
    made.run(ms=1_000)
    assert made.values(1) == list(range(20))


def test_a_killed_broker_loses_nothing(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, replication_factor=1, brokers=1)
    for value in range(20):
        made.produce(value)
    made.cluster.kill(1)
    made.run(ms=12_000)
    made.world.run_until(made.cluster.restart(1))
    made.run(ms=1_000)
    assert made.values(1) == list(range(20))


@pytest.mark.parametrize("controllers", [1, 3])
def test_indexes_are_rebuilt_with_the_interval_of_the_topic(disk: VirtualDisk, controllers: int) -> None:
    config = {"index.interval.bytes": "100"}
    made = Replicas(disk=disk, replication_factor=1, brokers=1, topic_config=config, controllers=controllers)
    for value in range(20):
        made.produce(value)
    entries = list(made.cluster.log_of(1, "t", 0).segments[-1].indexed_offsets)
    assert len(entries) > 5
    made.cluster.kill(1)
    made.run(ms=12_000)
    made.world.run_until(made.cluster.restart(1))
    assert made.cluster.log_of(1, "t", 0).segments[-1].indexed_offsets == entries
    made.run(ms=1_000)
    made.cluster.kill(1)
    made.world.run_until(made.cluster.close())
    again = Replicas(disk=disk, replication_factor=1, brokers=1, controllers=controllers)
    assert again.cluster.log_of(1, "t", 0).segments[-1].indexed_offsets == entries


def test_the_next_cluster_finds_what_the_last_one_left(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, topic_config={"retention.ms": "-1"})
    made.produce(1, 2, 3)
    before = made.cluster
    topic = before.controller.image.topics["t"]
    made.world.run_until(before.close())
    again = Replicas(disk=disk, seed=7, partitions=5)
    assert again.cluster.cluster_id == before.cluster_id
    found = again.cluster.controller.image.topics["t"]
    assert (found.topic_id, found.configs, len(found.partitions)) == (topic.topic_id, {"retention.ms": "-1"}, 1)
    assert found.partitions[0].leader_epoch == 1
    again.settle()
    assert [again.values(broker) for broker in (1, 2, 3)] == [[1, 2, 3]] * 3
    assert again.produce(4).base_offset == 3
    assert again.high_watermark(1) == 4


def test_topics_that_were_made_changed_and_deleted_are_so_afterwards(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk)
    for name in ("kept", "gone"):
        made.world.run_until(made.cluster.create_topic(TopicSpec(name=name, partitions=2)))
    made.world.run_until(made.cluster.delete_topic("gone"))
    first = made.cluster.controller.allocate_producer_ids(1)
    made.world.run_until(made.cluster.close())
    again = Replicas(disk=disk)
    assert sorted(again.cluster.controller.image.topics) == ["kept", "t"]
    assert again.cluster.controller.allocate_producer_ids(1).first >= first.first + first.size
    names = disk.list_directory("/data/broker-1")
    assert "kept-0" in names
    assert not [name for name in names if name.startswith("gone-") and not name.endswith("-delete")]


def test_ids_are_not_drawn_again_after_a_restart(disk: VirtualDisk) -> None:
    ids = []
    for number in range(3):
        made = Replicas(disk=disk)
        created = made.world.run_until(made.cluster.create_topic(TopicSpec(name=f"topic-{number}")))
        ids.append(created.topic_id)
        ids.append(made.cluster.broker(1).lifecycle.incarnation)
        made.world.run_until(made.cluster.close())
    assert len(set(ids)) == 6


def test_a_cluster_that_ended_at_once_is_found_too(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk)
    made.produce(1, 2)
    for broker in (1, 2, 3):
        made.cluster.kill(broker)
    made.world.run_until(made.cluster.close())
    again = Replicas(disk=disk)
    again.settle()
    assert again.values(1) == [1, 2]


def test_a_directory_is_of_one_cluster_at_a_time(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk)
    with pytest.raises(ForeignDirectory, match=r"/data/controller/\.lock is locked"):
        Replicas(disk=disk)
    made.world.run_until(made.cluster.close())
    Replicas(disk=disk)


def test_a_foreign_log_directory_is_refused(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk)
    made.world.run_until(made.cluster.close())
    disk.remove("/data/controller")
    with pytest.raises(ForeignDirectory, match="is another cluster than this one"):
        Replicas(disk=disk, seed=8)
    disk.remove("/data/broker-1")
    disk.rename("/data/broker-2", "/data/broker-1")
    disk.remove("/data/controller")
    with pytest.raises(ForeignDirectory, match=r"node\.id=2 is another broker than this one, 1"):
        Replicas(disk=disk)


def test_several_directories_are_below_each_brokers_own(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, config={"log.dirs": "/one,two"}, partitions=4)
    assert made.cluster.broker(2).storage.directories.names == ("/data/broker-2/one", "/data/broker-2/two")
    for index in range(4):
        log = made.cluster.log_of(2, "t", index)
        assert log is not None
        assert disk.is_directory(f"{made.cluster.broker(2).storage.directories.of(log.topic_partition)}/t-{index}")


def test_a_full_directory_fails_and_another_broker_leads(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, config={"log.dirs": "a,b"}, topic_config={"min.insync.replicas": "1"}, partitions=2)
    in_second = next(
        TopicPartition("t", index)
        for index in range(2)
        if made.cluster.broker(1).storage.directories.of(TopicPartition("t", index)) == "/data/broker-1/b"
    )
    made.topic = in_second
    leader = made.leader() or 0
    made.cluster.fill_log_dir(leader, f"/data/broker-{leader}/b", left_bytes=100)
    assert made.produce(1, broker=leader).error_code is ErrorCode.NONE
    assert made.produce(2, broker=leader).error_code is ErrorCode.KAFKA_STORAGE_ERROR
    made.run(ms=100)
    assert made.leader() not in (leader, None)
    assert made.cluster.broker(leader).alive


def test_a_follower_with_a_full_directory_fetches_no_more(disk: VirtualDisk) -> None:
    """Without a delay on its link, a Fetch that is repeated at the same offset would never leave the loop."""
    made = Replicas(disk=disk, config={"log.dirs": "a"})
    assert made.leader() != 2
    made.cluster.fill_log_dir(2, "/data/broker-2/a", left_bytes=0)
    made.produce(1, acks=1)
    made.run(ms=100)
    assert not made.cluster.broker(2).alive
    made.run(ms=30_000)
    assert made.isr() == (1, 3)


def test_a_follower_that_cannot_truncate_fetches_no_more(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, config={"log.dirs": "a,b"}, topic_config={"min.insync.replicas": "1"})
    for follower in (2, 3):
        made.hold_fetches(follower)
    made.produce(1, acks=1)
    made.cluster.kill(1)
    made.run(ms=12_000)
    assert made.leader() == 2
    made.produce(2, acks=1, broker=2)
    link = made.cluster.links.link(2, 1)
    made.world.run_until(made.cluster.restart(1))
    link.hold()
    made.run(ms=1_000)
    log = made.cluster.log_of(1, "t", 0)
    assert isinstance(log, FileReplicaLog)
    log.directory.offline = True  # its failure is not reported yet
    link.release()
    made.run(ms=1_000)
    fetchers = made.cluster.broker(1).replica_manager.roles.fetchers
    assert [fetcher.partitions for fetcher in fetchers.values() if fetcher.partitions] == []


def test_the_same_seed_loses_the_same() -> None:
    def fingerprint(seed: int) -> str:
        made = Replicas(disk=VirtualDisk(), seed=seed)
        for value in range(10):
            made.produce(value)
        made.cluster.lose_power(1)
        made.run(ms=12_000)
        made.world.run_until(made.cluster.restart(1))
        made.settle()
        return made.world.fingerprint()

    assert fingerprint(3) == fingerprint(3)
    assert fingerprint(3) != fingerprint(4)


def test_the_machines_own_disk_is_the_default(tmp_path: Path) -> None:
    world = World()
    options = {"reactor": world.reactor, "brokers": 1, "listen": False, "data_dir": str(tmp_path)}
    cluster = Cluster(streams=world.streams, topics=[TopicSpec(name="t")], **options)  # type: ignore[arg-type]
    cluster.start()
    world.run_until(cluster.close())
    assert (tmp_path / "broker-1" / "t-0" / "00000000000000000000.log").is_file()
    assert (tmp_path / "controller" / "__cluster_metadata-0" / "00000000000000000000.log").stat().st_size > 0


def test_a_data_directory_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    world = World()
    with pytest.raises(BrokerSimError, match=r"data directory '.*/file' cannot be used: Not a directory$"):
        Cluster(reactor=world.reactor, streams=world.streams, listen=False, data_dir=str(tmp_path / "file"))


def test_memory_is_the_default(replicas: Callable[..., Replicas]) -> None:
    made = replicas()
    assert type(made.cluster.broker(1).storage).__name__ == "ReplicaStorage"
