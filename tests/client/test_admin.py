"""Admin on clusters of several releases, over sockets: the requests that each supports, and those refused by name."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from broker_client import Producer, TopicPartition
from broker_client.admin import (
    HIGH_WATERMARK,
    Admin,
    AlterConfigOp,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigType,
    ElectionType,
    FeatureUpdate,
    ItemsFailed,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    QuotaEntity,
    QuotaFilter,
    TopicPartitionReplica,
)
from broker_client.consumer import Consumer
from broker_client.errors import (
    BrokerError,
    ConfigError,
    ProducerClosed,
    ProducerError,
    UnsupportedVersion,
)
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASES = ("0.10.2", "2.8", "3.7", "4.3.1")
NEWEST = "4.3.1"
KEY = TopicPartition("orders", 0)


class Served:
    """A cluster of one release, and its admin client."""

    def __init__(self, release: str, cluster: ThreadedCluster, admin: Admin) -> None:
        self.number = tuple(map(int, release.split(".")))
        self.cluster = cluster
        self.admin = admin
        self._marks = count()

    def topic(self, name: str, partitions: int = 2, replication_factor: int = 2, **configs: str) -> None:
        """Create a topic and wait until it can be used."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        self.admin.create_topic(name, partitions=partitions, replication_factor=replication_factor, configs=named)
        self.applied()

    def applied(self) -> None:
        """Wait until every broker has applied all changes: they are applied in order, and this topic is the last."""
        self.cluster.create_topic(f"mark-{next(self._marks)}:1:1")


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Served]]:
    """Return the clusters by release; each starts at its first use."""
    started: dict[str, Served] = {}
    yield started
    for served in started.values():
        served.admin.close()
        served.cluster.close()


@pytest.fixture(params=RELEASES)
def served(request: pytest.FixtureRequest, clusters: dict[str, Served]) -> Served:
    return _served(request.param, clusters)


@pytest.fixture
def newest(clusters: dict[str, Served]) -> Served:
    return _served(NEWEST, clusters)


def _served(release: str, clusters: dict[str, Served]) -> Served:
    if release not in clusters:
        cluster = ThreadedCluster(release=release, config={"delete.topic.enable": "true"})
        clusters[release] = Served(release, cluster, Admin(bootstrap_servers=cluster.bootstrap_servers))
    return clusters[release]


def test_topics_are_created_described_and_deleted(served: Served) -> None:
    admin = served.admin
    counted = NewTopic(name="counted", partitions=2, replication_factor=3, configs={"retention.ms": "1000"})
    assigned = NewTopic(name="assigned", assignments={0: [2, 1], 1: [3, 2]})
    assert list(admin.create_topics([counted, assigned], validate_only=True)) == ["counted", "assigned"]
    assert "counted" not in admin.list_topics()
    made = admin.create_topics([counted, assigned])
    served.applied()
    described = admin.describe_topics(["assigned", "counted"])
    assert list(described) == ["assigned", "counted"]
    assert [(one.leader, one.replicas, one.isr) for one in described["assigned"].partitions] == [
        (2, (2, 1), (2, 1)),
        (3, (3, 2), (3, 2)),
    ]
    assert [len(one.replicas) for one in described["counted"].partitions] == [3, 3]
    listed = admin.list_topics()
    assert [name for name in listed if name in ("assigned", "counted")] == ["assigned", "counted"]
    assert listed["counted"].topic_id == described["counted"].topic_id == made["counted"].topic_id
    configs = made["counted"].configs
    if served.number >= (2, 8):
        assert made["counted"].topic_id is not None
        assert (made["counted"].partitions, made["counted"].replication_factor) == (2, 3)
        assert configs is not None
        assert configs["retention.ms"] == "1000"
    else:
        assert (made["counted"].topic_id, made["counted"].partitions, configs) == (None, -1, None)
    elr = described["counted"].partitions[0].eligible_leader_replicas
    assert elr == (() if served.number >= (4, 0) else None)
    admin.delete_topics(["counted", "assigned"])
    served.applied()
    assert "counted" not in admin.list_topics()


def test_failures_are_reported_per_item_and_the_rest_is_done(served: Served) -> None:
    served.topic("there")
    requested = [NewTopic(name=name, partitions=1, replication_factor=1) for name in ("there", "fresh", "no way")]
    with pytest.raises(ItemsFailed, match="2 of 3 failed: there: TOPIC_ALREADY_EXISTS") as failed:
        served.admin.create_topics(requested)
    codes = {name: error.error_code for name, error in failed.value.errors.items()}
    assert codes == {"there": ErrorCode.TOPIC_ALREADY_EXISTS, "no way": ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert list(failed.value.done) == ["fresh"]
    with pytest.raises(BrokerError, match="1 of 2 failed: absent: UNKNOWN_TOPIC_OR_PARTITION") as unknown:
        served.admin.describe_topics(["there", "absent"])
    assert isinstance(unknown.value, ItemsFailed)
    assert len(unknown.value.done["there"].partitions) == 2
    assert "absent" not in served.admin.list_topics()


def test_offsets_are_listed_by_name_and_by_time(served: Served) -> None:
    served.topic("timed", partitions=1, replication_factor=1)  # no wait for followers
    key = TopicPartition("timed", 0)
    with Producer(bootstrap_servers=served.cluster.bootstrap_servers, enable_idempotence=False) as producer:
        for timestamp_ms in (1_000, 3_000, 2_000):
            producer.send("timed", b"x", partition=0, timestamp_ms=timestamp_ms).result(10)
    admin = served.admin
    assert admin.list_offsets({key: OffsetSpec.EARLIEST})[key].offset == 0
    assert admin.list_offsets({key: OffsetSpec.LATEST})[key].offset == 3
    found = admin.list_offsets({key: 1_500})[key]
    assert (found.offset, found.timestamp_ms) == (1, 3_000)
    assert admin.list_offsets({key: 5_000})[key].offset == -1
    if served.number >= (3, 0):
        newest = admin.list_offsets({key: OffsetSpec.MAX_TIMESTAMP})[key]
        assert (newest.offset, newest.timestamp_ms) == (1, 3_000)
    else:
        with pytest.raises(UnsupportedVersion, match=r"MAX_TIMESTAMP needs ListOffsets v7 \(Kafka 3\.0\)"):
            admin.list_offsets({key: OffsetSpec.MAX_TIMESTAMP})
    if served.number >= (0, 11):
        assert admin.list_offsets({key: -1}, isolation_level="read_committed")[key].offset == 3
        assert admin.delete_records({key: 2}) == {key: 2}
        assert admin.list_offsets({key: OffsetSpec.EARLIEST})[key].offset == 2
        assert admin.delete_records({key: HIGH_WATERMARK}) == {key: 3}
        with pytest.raises(ItemsFailed, match="timed-0: OFFSET_OUT_OF_RANGE"):
            admin.delete_records({key: 9})


def test_a_missing_request_names_the_release_that_has_it(served: Served) -> None:
    served.topic("orders")
    admin = served.admin
    resource = ConfigResource.topic("orders")
    quota = QuotaEntity.of({"user": None})
    calls = [
        (
            (1, 0),
            "CreatePartitions",
            lambda: admin.create_partitions({"orders": NewPartitions(total_count=9)}, validate_only=True),
        ),
        ((0, 11), "DescribeConfigs", lambda: admin.describe_configs([resource, ConfigResource.broker(2)])),
        ((2, 3), "IncrementalAlterConfigs", lambda: admin.incremental_alter_configs({resource: []})),
        ((3, 7), "ListConfigResources", lambda: admin.list_config_resources([ConfigResourceType.CLIENT_METRICS])),
        ((0, 11), "DeleteRecords", lambda: admin.delete_records({KEY: HIGH_WATERMARK})),
        ((2, 2), "ElectLeaders", lambda: admin.elect_leaders(ElectionType.PREFERRED)),
        ((2, 4), "ListPartitionReassignments", admin.list_partition_reassignments),
        ((1, 0), "DescribeLogDirs", lambda: admin.describe_log_dirs([1])),
        ((2, 6), "DescribeClientQuotas", admin.describe_client_quotas),
        (
            (2, 6),
            "AlterClientQuotas",
            lambda: admin.alter_client_quotas({quota: {"request_percentage": 1.0}}, validate_only=True),
        ),
    ]
    for since, name, call in calls:
        if served.number >= since:
            call()
        else:
            with pytest.raises(UnsupportedVersion, match=f"the node does not support {name}"):
                call()


def test_configurations_are_set_appended_and_subtracted(newest: Served) -> None:
    newest.topic("configured", retention_ms="1000")
    admin, topic, broker = newest.admin, ConfigResource.topic("configured"), ConfigResource.broker(2)
    described = admin.describe_configs(
        [topic, broker], names=["retention.ms", "num.io.threads"], include_synonyms=True, include_documentation=True
    )
    entry = described[topic]["retention.ms"]
    assert (entry.value, entry.source, entry.type) == ("1000", ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigType.LONG)
    assert (entry.is_default, entry.read_only, entry.sensitive) == (False, False, False)
    assert entry.synonyms[0].source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert entry.documentation
    assert list(described[broker]) == ["num.io.threads"]
    append = AlterConfigOp(name="cleanup.policy", value="compact", operation=ConfigOperation.APPEND)
    unset = AlterConfigOp(name="retention.ms", operation=ConfigOperation.DELETE)
    admin.incremental_alter_configs({topic: [append, unset]}, validate_only=True)
    assert admin.describe_topic_configs("configured")["retention.ms"].value == "1000"
    admin.incremental_alter_configs(
        {topic: [append, unset], broker: [AlterConfigOp(name="log.cleaner.threads", value="2")]}
    )
    newest.applied()
    after = admin.describe_topic_configs("configured")
    assert after["cleanup.policy"].value == "delete,compact"
    assert after["retention.ms"].is_default
    assert admin.describe_broker_configs(2)["log.cleaner.threads"].source is ConfigSource.DYNAMIC_BROKER_CONFIG
    with pytest.raises(ItemsFailed, match="1 of 2 failed: TOPIC 'configured': INVALID_CONFIG") as failed:
        admin.incremental_alter_configs(
            {
                topic: [AlterConfigOp(name="retention.ms", value="soon")],
                broker: [AlterConfigOp(name="log.cleaner.threads", operation=ConfigOperation.DELETE)],
            }
        )
    assert list(failed.value.done) == [broker]
    with pytest.raises(ConfigError, match="BROKER 'two': expected a broker's id"):
        admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "two")])


def test_config_resources_are_listed_by_type(newest: Served) -> None:
    newest.topic("listed")
    assert ConfigResource.topic("listed") in newest.admin.list_config_resources()
    brokers = newest.admin.list_config_resources([ConfigResourceType.BROKER])
    assert set(brokers) == {ConfigResource.broker(number) for number in (1, 2, 3)}


def test_topics_are_found_by_their_ids(newest: Served) -> None:
    newest.topic("identified")
    admin = newest.admin
    topic_id = admin.list_topics()["identified"].topic_id
    assert topic_id is not None
    assert admin.describe_topics_by_id([topic_id])[topic_id].name == "identified"
    admin.delete_topics_by_id([topic_id])
    newest.applied()
    with pytest.raises(ItemsFailed, match=f"{topic_id}: UNKNOWN_TOPIC_ID"):
        admin.describe_topics_by_id([topic_id])


def test_partitions_are_added_on_the_given_brokers(newest: Served) -> None:
    newest.topic("grown")
    admin = newest.admin
    more = {"grown": NewPartitions(total_count=3, assignments=[[3, 1]])}
    admin.create_partitions(more, validate_only=True)
    assert len(admin.describe_topic("grown")) == 2
    admin.create_partitions(more)
    newest.applied()
    assert admin.describe_topics(["grown"])["grown"].partitions[2].replicas == (3, 1)
    with pytest.raises(ItemsFailed, match="grown: INVALID_PARTITIONS"):
        admin.create_partitions({"grown": NewPartitions(total_count=2)})


def test_leaders_are_elected_and_replicas_moved(newest: Served) -> None:
    admin, key = newest.admin, TopicPartition("moved", 0)
    admin.create_topics([NewTopic(name="moved", assignments={0: [1, 2]})])
    newest.applied()
    admin.alter_partition_reassignments({key: [2, 1]})
    assert admin.list_partition_reassignments([key]) == {}
    newest.applied()
    assert admin.describe_topics(["moved"])["moved"].partitions[0].replicas == (2, 1)
    assert admin.elect_leaders(ElectionType.PREFERRED, [key]) == [key]
    newest.applied()
    assert admin.describe_topics(["moved"])["moved"].partitions[0].leader == 2
    with pytest.raises(ItemsFailed, match="moved-0: ELECTION_NOT_NEEDED"):
        admin.elect_leaders(ElectionType.PREFERRED, [key])
    assert admin.elect_leaders(ElectionType.PREFERRED) == []
    with pytest.raises(ItemsFailed, match="moved-0: INVALID_REPLICA_ASSIGNMENT"):
        admin.alter_partition_reassignments({key: [9]})
    with pytest.raises(ItemsFailed, match="moved-0: NO_REASSIGNMENT_IN_PROGRESS"):
        admin.alter_partition_reassignments({key: None})


def test_log_directories_are_described_by_broker(newest: Served) -> None:
    newest.admin.create_topics([NewTopic(name="kept", assignments={0: [2]})])
    newest.applied()
    dirs = newest.admin.describe_log_dirs([1, 2])
    holding = [
        broker
        for broker, described in dirs.items()
        for one in described.values()
        if TopicPartition("kept", 0) in one.replicas
    ]
    assert holding == [2]
    (only,) = dirs[2].values()
    assert only.error is None
    assert not only.replicas[TopicPartition("kept", 0)].is_future
    assert only.total_bytes >= only.usable_bytes > 0
    with pytest.raises(ItemsFailed, match="kept-0-2: LOG_DIR_NOT_FOUND"):
        newest.admin.alter_replica_log_dirs({TopicPartitionReplica("kept", 0, 2): "/nowhere"})


def test_the_cluster_its_quorum_and_its_features_are_described(served: Served) -> None:
    described = served.admin.describe_cluster()
    assert [node.id for node in described.nodes] == [1, 2, 3]
    assert described.controller in described.nodes
    assert described.cluster_id
    features = served.admin.describe_features()
    if served.number < (3, 3):
        assert features.finalized == {}
        with pytest.raises(UnsupportedVersion, match="the node does not support DescribeQuorum"):
            served.admin.describe_metadata_quorum()
        return
    assert features.finalized["metadata.version"].highest <= features.supported["metadata.version"].highest
    quorum = served.admin.describe_metadata_quorum()
    assert quorum.leader_id in [voter.replica_id for voter in quorum.voters]
    served.admin.update_features(
        {"metadata.version": FeatureUpdate(max_version_level=features.finalized["metadata.version"].highest)}
    )
    with pytest.raises(BrokerError, match=r"metadata\.version"):
        served.admin.update_features({"metadata.version": FeatureUpdate(max_version_level=99)}, validate_only=True)


def test_fenced_brokers_are_described_on_request(newest: Served) -> None:
    assert newest.admin.describe_cluster(include_fenced_brokers=True).fenced == ()


def test_quotas_are_set_filtered_and_removed(newest: Served) -> None:
    admin = newest.admin
    mine, default = QuotaEntity.of({"client-id": "me"}), QuotaEntity.of({"user": "anna", "client-id": None})
    admin.alter_client_quotas({mine: {"producer_byte_rate": 1_000.0}, default: {"request_percentage": 50.0}})
    newest.applied()
    assert admin.describe_client_quotas() == {
        mine: {"producer_byte_rate": 1_000.0},
        default: {"request_percentage": 50.0},
    }
    assert list(admin.describe_client_quotas(QuotaFilter(exactly={"client-id": "me"}))) == [mine]
    assert list(admin.describe_client_quotas(QuotaFilter(any_named=["client-id"], strict=True))) == [mine]
    with pytest.raises(ItemsFailed, match="client-id=me: INVALID_REQUEST"):
        admin.alter_client_quotas({mine: {"no_such_rate": 1.0}})
    admin.alter_client_quotas({mine: {"producer_byte_rate": None}, default: {"request_percentage": None}})
    newest.applied()
    assert admin.describe_client_quotas() == {}


def test_a_topic_given_twice_and_a_closed_client_are_refused(newest: Served) -> None:
    topic = NewTopic(name="twice", partitions=1, replication_factor=1)
    with pytest.raises(ProducerError, match="topic 'twice' is given twice"):
        newest.admin.create_topics([topic, topic])
    admin = Admin(bootstrap_servers=newest.cluster.bootstrap_servers)
    consumer = Consumer(bootstrap_servers=newest.cluster.bootstrap_servers, isolation_level="read_committed")
    for client in (admin, consumer, admin, consumer):
        client.close()
    with pytest.raises(ProducerClosed, match="the admin client is closed"):
        admin.list_topics()
    with pytest.raises(ProducerClosed, match="the consumer is closed"):
        consumer.poll()


def test_a_consumer_has_options_by_name(served: Served) -> None:
    served.topic("read")
    key, other = TopicPartition("read", 0), TopicPartition("read", 1)
    with Producer(bootstrap_servers=served.cluster.bootstrap_servers, enable_idempotence=False) as producer:
        for number in range(3):
            producer.send("read", b"%d" % number, partition=0, timestamp_ms=1_000 + number).result(10)
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset='first'"):
        Consumer(bootstrap_servers="a:1", auto_offset_reset="first")
    options = {"auto.offset.reset": "latest", "max_partition_fetch_bytes": 100_000}
    with Consumer(bootstrap_servers=served.cluster.bootstrap_servers, **options) as consumer:
        consumer.assign([key, other])
        assert consumer.assignment() == (key, other)
        assert consumer.position(key) == 3
        consumer.seek_to_beginning()
        consumer.pause(other)
        assert consumer.paused() == (other,)
        consumer.resume(other)
        assert [record.value for record in consumer.poll(5.0)] == [b"0", b"1", b"2"]
        consumer.seek_to_time(1_002, key)
        assert consumer.position(key) == 2
        consumer.seek_to_end(key)
        assert consumer.position(key) == 3
        assert consumer.offsets_for_times({key: 1_001})[key].offset == 1
        assert consumer.beginning_offsets([key, other]) == {key: 0, other: 0}
        assert consumer.end_offsets([key]) == {key: 3}
