"""Metadata that ZooKeeper or a quorum leaves in a data directory, and that the next cluster restores."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest
from twisted.logger import LogLevel, capturedLogs, formatEvent

from broker_sim.cluster import Cluster
from broker_sim.config.config_resource import ConfigRecord, ConfigResource, ResourceType
from broker_sim.errors import BrokerSimError
from broker_sim.log.files.errors import CorruptFile, ForeignDirectory
from broker_sim.metadata.metadata_log_codec import decode_batches
from broker_sim.quotas.client_quotas_image import ClientQuotaEntity, QuotaChange
from broker_sim.security.acl import AclOperation
from broker_sim.security.acl import ResourceType as AclResourceType
from broker_sim.security.scram_image import ScramChange
from broker_sim.topic_spec import TopicSpec
from broker_sim.zookeeper.ensemble import ZooKeeper
from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsRequest
from protocol_specs.messages.create_acls import AclCreation
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_set import read_any
from protocol_specs.sasl.scram import ScramMechanism
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World
from tests.broker_sim.conftest import TIMESTAMP_MS, Replicas

if TYPE_CHECKING:
    from broker_sim.metadata.metadata_image import MetadataImage

ZNODES = "/data/zookeeper/znodes.jsonl"
SHA_512 = ScramMechanism.SCRAM_SHA_512
ZOOKEEPER_RELEASES = ("0.8.2", "0.10.0", "0.10.2", "1.1", "2.3", "2.5", "2.8", "3.2")


@pytest.fixture
def disk() -> VirtualDisk:
    return VirtualDisk()


def ensemble(made: Replicas) -> ZooKeeper:
    zookeeper = made.cluster.controller
    assert isinstance(zookeeper, ZooKeeper)
    return zookeeper


def close(made: Replicas) -> None:
    made.world.run_until(made.cluster.close())


def configured(image: MetadataImage) -> MetadataImage:
    entity = ClientQuotaEntity.of({"user": "a/b", "client-id": None})
    changed = image.with_configs(
        [
            ConfigRecord(resource=ConfigResource(ResourceType.TOPIC, "kept"), name="retention.ms", value="77"),
            ConfigRecord(resource=ConfigResource(ResourceType.BROKER, ""), name="log.retention.ms", value="7777"),
            ConfigRecord(resource=ConfigResource(ResourceType.BROKER, "2"), name="log.retention.ms", value="777"),
        ]
    )
    quotas = image.client_quotas.with_changes([QuotaChange(entity=entity, key="producer_byte_rate", value=1024.5)])
    from dataclasses import replace

    changes = [
        ScramChange(user, SHA_512, SHA_512.credential(user.encode(), b"salt", 5000))
        for user in ("a/b", "<default>", "c")
    ]
    return replace(changed, client_quotas=quotas, scram=image.scram.with_changes(changes))


def test_access_control_entries_outlive_the_cluster(disk: VirtualDisk) -> None:
    config = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    made = Replicas(disk=disk, release="2.7", config=config)
    kept, gone = (
        AclCreation(
            resource_type=2, resource_name=name, principal="User:a", host="*", operation=4, permission_type=permission
        )
        for name, permission in (("kept", 3), ("gone", 2))
    )
    for entry, delete in ((kept, False), (kept, False), (gone, False), (gone, True)):
        made.world.run_until(made.cluster.admin.alter_acl(entry, delete=delete))
    close(made)
    lines = [json.loads(line) for line in disk.read(ZNODES).splitlines()]
    data = '{"version":1,"acls":[{"principal":"User:a","permissionType":"Allow","operation":"Write","host":"*"}]}'
    assert [(line["path"], line["version"], line["data"]) for line in lines if "acl" in line["path"]] == [
        ("/kafka-acl/Topic/kept", 0, data),
        ("/kafka-acl/Topic/kept", 1, data),
        ("/kafka-acl/Topic/gone", 0, data.replace("Allow", "Deny")),
        ("/kafka-acl/Topic/gone", 0, None),
    ]
    again = Replicas(disk=disk, release="2.7", config=config)
    authorizer = again.cluster.broker(2).authorizer
    assert authorizer is not None
    may = [
        authorizer.allows(f"User:{user}", "h", AclOperation.WRITE, AclResourceType.TOPIC, "kept") for user in ("a", "b")
    ]
    assert may == [True, False]
    close(again)


@pytest.mark.parametrize(("release", "controllers"), [("2.8", 1), ("1.1", 1), ("4.3.1", 1), ("4.3.1", 3), ("3.7", 3)])
def test_topics_configurations_quotas_and_ids_outlive_the_cluster(
    disk: VirtualDisk, release: str, controllers: int
) -> None:
    made = Replicas(disk=disk, release=release, controllers=controllers)
    for name in ("kept", "gone"):
        made.world.run_until(made.cluster.create_topic(TopicSpec(name=name, partitions=2, replication_factor=2)))
    made.world.run_until(made.cluster.delete_topic("gone"))
    made.world.run_until(made.cluster.controller.change("configure", configured))
    made.settle()
    before = made.cluster.controller.committed_image
    close(made)
    again = Replicas(disk=disk, release=release, controllers=controllers, seed=5)
    again.settle()
    after = again.cluster.controller.committed_image
    assert again.cluster.cluster_id == made.cluster.cluster_id
    assert list(after.topics) == ["t", "kept"]
    for name in after.topics:
        assert (after.topics[name].topic_id, after.topics[name].configs) == (
            before.topics[name].topic_id,
            before.topics[name].configs,
        )
    assert after.topics["kept"].configs == {"retention.ms": "77"}
    assert after.configs == before.configs
    assert [*after.client_quotas.items()] == [*before.client_quotas.items()]
    assert after.scram == before.scram
    assert after.scram.of_user("a/b").keys() == {SHA_512}
    assert again.cluster.broker(2).config["log.retention.ms"] == 777
    assert again.cluster.broker(1).config["log.retention.ms"] == 7777


@pytest.mark.parametrize("release", ["2.8.2", "4.3.1"])
def test_a_directory_is_formatted_once_with_users(disk: VirtualDisk, release: str) -> None:
    for password in ("first", "second"):
        world = World(1)
        cluster = Cluster(
            reactor=world.reactor, streams=world.streams, brokers=1, release=release, data_dir="/d", disk=disk
        )
        cluster.storage_format.add_scram(f"SCRAM-SHA-512=[name=ann,password={password},salt=c2FsdA==]", Random(1))
        cluster.start()
        world.run_for(ms=100)
        key = SHA_512.salted_password("first", b"salt", 4096)
        image = cluster.brokers[1].metadata_cache.image
        assert image.scram.credential("ann", SHA_512) == SHA_512.credential(key, b"salt", 4096)
        world.run_until(cluster.close())


@pytest.mark.parametrize("release", ZOOKEEPER_RELEASES)
def test_records_outlive_the_cluster_in_every_age_of_zookeeper(disk: VirtualDisk, release: str) -> None:
    for start in range(3):
        made = Replicas(disk=disk, release=release, seed=start)
        made.settle()
        assert ensemble(made).controller_epoch == start + 1
        assert made.cluster.registration_of(*made.topic).leader_epoch == start
        for number in range(3):
            append(made, 10 * start + number)
        made.settle()
        wanted = [10 * each + number for each in range(start + 1) for number in range(3)]
        assert [read_values(made, broker) for broker in (1, 2, 3)] == [wanted] * 3
        close(made)


@pytest.mark.parametrize("release", ZOOKEEPER_RELEASES)
def test_a_loss_of_power_is_recovered_from_in_every_age_of_zookeeper(disk: VirtualDisk, release: str) -> None:
    made = Replicas(disk=disk, release=release)
    for number in range(10):
        append(made, number)
    made.cluster.lose_power(1)
    made.run(ms=40_000)
    assert made.leader() in (2, 3)
    made.world.run_until(made.cluster.restart(1), deadline_ms=120_000)
    made.settle(within_ms=120_000)
    assert [read_values(made, broker) for broker in (1, 2, 3)] == [list(range(10))] * 3


def append(made: Replicas, value: int) -> None:
    """Produce a value in the newest format of the release."""
    magic = made.cluster.config.behaviour.newest_magic
    if magic == 2:
        made.produce(value)
        return
    builder = MessageSetBuilder(magic=magic)
    builder.append(TIMESTAMP_MS, None, value.to_bytes(8, "big"))
    made.cluster.broker(1).replica_manager.append_records(
        request_id=1, timeout_ms=100, required_acks=-1, entries=[(made.topic, builder.build())]
    )
    made.run(ms=100)


def read_values(made: Replicas, broker: int) -> list[int]:
    log = made.cluster.log_of(broker, *made.topic)
    assert log is not None
    found = [record for batch in log.batches() for record in read_any(batch.data)]
    return [int.from_bytes(record.value or b"", "big") for record in found]


def test_compressed_messages_are_read_back_with_the_offsets_inside_of_them(disk: VirtualDisk) -> None:
    from protocol_specs.records.compression import CompressionCodec

    made = Replicas(disk=disk, release="0.10.2")
    for first in (0, 4):
        builder = MessageSetBuilder(magic=1, codec=CompressionCodec.GZIP)
        for value in range(first, first + 4):
            builder.append(TIMESTAMP_MS, None, value.to_bytes(8, "big"))
        made.cluster.broker(1).replica_manager.append_records(
            request_id=1, timeout_ms=100, required_acks=1, entries=[(made.topic, builder.build())]
        )
    made.settle()
    log = made.cluster.log_of(1, *made.topic)
    assert log is not None
    before = [(batch.base_offset, batch.last_offset, batch.data) for batch in log.batches()]
    close(made)
    again = Replicas(disk=disk, release="0.10.2")
    log = again.cluster.log_of(1, *again.topic)
    assert log is not None
    assert [(batch.base_offset, batch.last_offset, batch.data) for batch in log.batches()] == before
    assert [entry[:2] for entry in before] == [(0, 3), (4, 7)]


def files(disk: VirtualDisk, release: str) -> dict[str, list[str]]:
    made = Replicas(disk=disk, release=release)
    append(made, 1)
    made.settle()
    close(made)
    return {name: disk.list_directory(f"/data/{name}") for name in ("broker-1", "broker-1/t-0")}


@pytest.mark.parametrize(
    ("release", "kinds"),
    [
        ("0.8.2", {".log", ".index"}),
        ("0.10.0", {".log", ".index"}),
        ("0.10.2", {".log", ".index", ".timeindex"}),
        ("1.1", {".log", ".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint"}),
        ("2.8", {".log", ".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata"}),
    ],
)
def test_a_log_has_the_files_of_its_age(disk: VirtualDisk, release: str, kinds: set[str]) -> None:
    found = files(disk, release)["broker-1/t-0"]
    assert {name if name[0].isalpha() else name[20:] for name in found} == kinds


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("0.8.2", None),
        ("0.9.0", "broker.id=1\nversion=0"),
        ("2.3", "broker.id=1\nversion=0"),
        ("2.4", "broker.id=1\nversion=0\ncluster.id={0}"),
        ("3.2", "broker.id=1\nversion=0\ncluster.id={0}"),
    ],
)
def test_a_directory_names_its_owner_as_its_release_does(disk: VirtualDisk, release: str, text: str | None) -> None:
    found = files(disk, release)["broker-1"]
    assert ("meta.properties" in found) is (text is not None)
    assert ("log-start-offset-checkpoint" in found) is (release not in ("0.8.2", "0.9.0"))
    assert disk.read("/data/broker-1/.kafka_cleanshutdown") == b""
    if text is not None:
        again = Replicas(disk=disk, release=release)
        lines = disk.read("/data/broker-1/meta.properties").decode().strip().removeprefix("#\n")
        assert lines == text.format(again.cluster.cluster_id)


def test_a_topic_gets_its_id_where_an_upgrade_brings_ids(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, release="2.7")
    made.produce(1)
    close(made)
    again = Replicas(disk=disk, release="2.8")
    again.settle()
    assert again.values(1) == [1]
    topic_id = again.cluster.controller.image.topics["t"].topic_id
    close(again)
    third = Replicas(disk=disk, release="2.8")
    assert third.cluster.controller.image.topics["t"].topic_id == topic_id
    assert disk.is_file("/data/broker-3/t-0/partition.metadata")


def test_producer_ids_are_not_given_again(disk: VirtualDisk) -> None:
    given = []
    for _ in range(3):
        made = Replicas(disk=disk, release="2.8")
        response = ensemble(made).serve(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1), 1)
        given.append(response.producer_id_start)
        close(made)
    assert given == [0, 1000, 2000]


def test_the_offsets_of_groups_outlive_the_cluster(disk: VirtualDisk) -> None:
    path = "/consumers/g/offsets/t/0"
    for offset in range(3):
        made = Replicas(disk=disk, release="2.8")
        assert ensemble(made).consumer_offset(path) == (None if offset == 0 else offset - 1)
        ensemble(made).write_consumer_offset(path, offset)
        close(made)
    lines = [json.loads(line) for line in disk.read(ZNODES).splitlines()]
    [last] = [(line["data"], line["version"]) for line in lines if line["path"] == path][-1:]
    assert last == ("2", 2)


def test_a_deletion_that_was_not_over_goes_on(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, release="2.8")
    made.cluster.kill(3)
    made.run(ms=40_000)
    made.cluster.delete_topic("t")
    made.run(ms=1_000)
    assert "t" in ensemble(made).image.topics
    close(made)
    again = Replicas(disk=disk, release="2.8")
    again.run(ms=10_000)
    assert again.cluster.controller.image.topics == {}


def test_a_reassignment_that_was_not_over_goes_on(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, release="2.3", replication_factor=1)
    made.produce(1)
    made.hold_fetches(3)
    ensemble(made).request_reassignment({made.topic: (3,)})
    made.run(ms=1_000)
    assert ensemble(made).reassignments() == {made.topic: (3,)}
    close(made)
    again = Replicas(disk=disk, release="2.3")
    again.run(ms=10_000)
    assert again.cluster.registration_of(*again.topic).replicas == (3,)
    assert read_values(again, 3) == [1]


def test_the_tree_is_what_kafka_writes_into_it(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, release="2.8")
    made.world.run_until(made.cluster.controller.change("none", lambda image: image.without_topics([])))
    tree = {}
    for line in disk.read(ZNODES).splitlines():
        entry = json.loads(line)
        tree[entry["path"]] = entry
    topic = json.loads(tree["/brokers/topics/t"]["data"])
    assert (topic["version"], topic["partitions"]) == (3, {"0": [1, 2, 3]})
    state = tree["/brokers/topics/t/partitions/0/state"]
    assert state["version"] == 0
    assert json.loads(state["data"]) == {
        "controller_epoch": 1,
        "leader": 1,
        "version": 1,
        "leader_epoch": 0,
        "isr": [1, 2, 3],
    }
    assert tree["/controller_epoch"]["data"] == "1"
    assert json.loads(tree["/cluster/id"]["data"])["id"] == made.cluster.cluster_id


def test_a_torn_last_line_is_cut_and_any_other_refused_with_its_byte(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, release="2.8")
    close(made)
    whole = disk.read(ZNODES)
    disk.replace(ZNODES, whole + b'{"zxid":99,"path":"/brokers/topics/x"')
    again = Replicas(disk=disk, release="2.8")
    assert list(again.cluster.controller.image.topics) == ["t"]
    close(again)
    disk.replace(ZNODES, b"{}\n" + whole)
    with pytest.raises(CorruptFile, match=r"znodes\.jsonl: byte 0: no line of a znode"):
        Replicas(disk=disk, release="2.8")


def test_each_controller_keeps_its_own_log_and_vote(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, controllers=3)
    made.world.run_until(made.cluster.create_topic(TopicSpec(name="kept")))
    made.settle()
    assert made.cluster.kill_controller() == 3000
    made.run(ms=20_000)
    active = made.cluster.active_controller
    assert active in (3001, 3002)
    made.world.run_until(made.cluster.create_topic(TopicSpec(name="later")))
    close(made)
    logs = {}
    for node in (3000, 3001, 3002):
        folder = f"/data/controller-{node}/__cluster_metadata-0"
        logs[node] = decode_batches(disk.read(f"{folder}/{0:020d}.log"))
        state = json.loads(disk.read(f"{folder}/quorum-state"))
        assert [each["voterId"] for each in state["currentVoters"]] == [3000, 3001, 3002]
        assert (state["leaderId"] == active) is (node != 3000)
    assert logs[3000][-1].last_offset < logs[active][-1].last_offset
    epoch = logs[active][-1].leader_epoch
    again = Replicas(disk=disk, controllers=3, seed=3)
    again.settle()
    assert list(again.cluster.controller.committed_image.topics) == ["t", "kept", "later"]
    assert again.cluster.controller.log.leader_epoch > epoch
    contents = [disk.read(f"/data/controller-{node}/__cluster_metadata-0/{0:020d}.log") for node in (3000, 3001, 3002)]
    assert len(set(contents)) == 1


def test_a_controller_that_lost_its_disk_gets_the_log_of_the_others(disk: VirtualDisk) -> None:
    made = Replicas(disk=disk, controllers=3)
    made.world.run_until(made.cluster.create_topic(TopicSpec(name="kept")))
    made.settle()
    close(made)
    disk.remove("/data/controller-3000/__cluster_metadata-0")
    again = Replicas(disk=disk, controllers=3)
    again.settle()
    assert list(again.cluster.controller.committed_image.topics) == ["t", "kept"]
    again.cluster.kill_controller(3001)
    again.run(ms=20_000)
    assert again.cluster.active_controller is not None
    again.world.run_until(again.cluster.create_topic(TopicSpec(name="more")))


def test_what_a_quorum_has_decided_survives_any_loss_of_power(disk: VirtualDisk) -> None:
    from random import Random

    made = Replicas(disk=disk, controllers=3)
    made.world.run_until(made.cluster.create_topic(TopicSpec(name="kept")))
    disk.lose_power("/data", Random(1))
    again = Replicas(disk=disk, controllers=3)
    again.settle()
    assert "kept" in again.cluster.controller.committed_image.topics


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (("2.8", 1), ("4.3.1", 1), "cluster with ZooKeeper, this one has controllers"),
        (("4.3.1", 1), ("2.8", 1), "cluster with controllers, this one has ZooKeeper"),
        (("4.3.1", 1), ("4.3.1", 3), "of 1 controller, not of 3"),
        (("4.3.1", 3), ("4.3.1", 1), "of 3 controllers, not of 1"),
    ],
)
def test_a_directory_of_another_kind_of_cluster_is_refused(
    disk: VirtualDisk, first: tuple[str, int], second: tuple[str, int], problem: str
) -> None:
    close(Replicas(disk=disk, release=first[0], controllers=first[1]))
    with pytest.raises(ForeignDirectory, match=problem):
        Replicas(disk=disk, release=second[0], controllers=second[1])
    close(Replicas(disk=disk, release=first[0], controllers=first[1]))


def test_the_directory_of_one_broker_is_no_directory_of_a_cluster(disk: VirtualDisk) -> None:
    disk.make_directory("/data")
    disk.replace("/data/meta.properties", b"version=1\nnode.id=1\n")
    with pytest.raises(ForeignDirectory, match="/data: the directory is that of one broker"):
        Replicas(disk=disk)
    assert disk.list_directory("/data") == ["meta.properties"]


def test_a_topic_that_the_start_names_with_other_partitions_stays_as_it_is(disk: VirtualDisk) -> None:
    def started(topic: str) -> Cluster:
        world = World(1)
        cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            brokers=1,
            topics=[topic],
            data_dir="/data",
            disk=disk,
            listen=False,
        )
        cluster.start()
        return cluster

    started("kept:3:1").close()
    with capturedLogs() as logs:
        cluster = started("kept:9:1")
    assert cluster.partition_counts["kept"] == 3
    [line] = [formatEvent(each) for each in logs if each["log_level"] is LogLevel.warn]
    assert line == "data directory: topic=kept exists with partitions=3, and is not changed to 9"
    cluster.close()


def test_other_voters_than_those_that_have_voted_are_refused(disk: VirtualDisk) -> None:
    close(Replicas(disk=disk, controllers=3))
    path = "/data/controller-3001/__cluster_metadata-0/quorum-state"
    disk.replace(path, disk.read(path).replace(b"3002", b"3009"))
    with pytest.raises(BrokerSimError, match=r"the voters are \[3000, 3001, 3009\], but those configured"):
        Replicas(disk=disk, controllers=3)


def test_the_same_starts_leave_the_same_files() -> None:
    left = []
    for _ in range(2):
        disk = VirtualDisk()
        for seed in (1, 2):
            made = Replicas(disk=disk, controllers=3, seed=seed)
            made.produce(seed)
            made.settle()
            close(made)
        folder = "/data/controller-3000/__cluster_metadata-0"
        left.append([disk.read(f"{folder}/{name}") for name in disk.list_directory(folder)])
    assert left[0] == left[1]
