"""Our Admin and Consumer on real Kafka and on our cluster of its release: equal calls, equal results."""

from __future__ import annotations

import dataclasses
import functools
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from broker_client import Producer, TopicPartition
from broker_client.admin import (
    HIGH_WATERMARK,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    Admin,
    AlterConfigOp,
    ClusterDescription,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    FeatureUpdate,
    ItemsFailed,
    LogDirDescription,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    PatternType,
    QuorumInfo,
    QuotaEntity,
    QuotaFilter,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    TopicPartitionReplica,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from broker_client.client_options import client_options
from broker_client.consumer import Consumer
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.network.client_core import ANY_NODE, ClientCore
from broker_client.core.network.cluster import Node
from broker_client.errors import ProducerError
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.message import Message
from sim_runtime.reactor_thread import ReactorThread
from tests.differential.probe import attempts
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from twisted.internet.defer import Deferred

    from broker_client.admin import TopicDescription

BROKERS: Final = 2
SETTLE_SECONDS_MAX: Final = 30.0
SETTINGS: Final = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "auto.leader.rebalance.enable": "false",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
T = TypeVar("T")
M = TypeVar("M", bound=Message)


class PinnedCore(ClientCore):
    """Sends each request that any node serves to one broker."""

    broker_id: int

    def request(
        self,
        kind: type[M],
        build: Callable[[int], M],
        *,
        node_id: int | None = ANY_NODE,
        **options: Any,
    ) -> Deferred[Any]:
        pinned = self.broker_id if node_id is ANY_NODE else node_id
        return super().request(kind, build, node_id=pinned, **options)


class OneBroker:
    """The view of one broker, which may be behind."""

    def __init__(self, servers: str, broker_id: int) -> None:
        self.thread = ReactorThread(f"admin of broker {broker_id}")
        self.core = self.thread.call(self._start, servers, broker_id)
        self.admin = AdminCore(self.core)

    def _start(self, servers: str, broker_id: int) -> PinnedCore:
        reactor = self.thread.reactor
        options = client_options({"bootstrap.servers": servers}, client_id="pinned")
        core = PinnedCore(options, reactor, Random(broker_id), call_from_thread=reactor.callFromThread)
        core.broker_id = broker_id
        return core

    def reports(self, call: Callable[[AdminCore], Coroutine[Any, Any, T]], settled: Callable[[T], bool]) -> bool:
        try:
            return settled(self.thread.call(lambda: call(self.admin)))
        except ItemsFailed:
            return False

    def close(self) -> None:
        self.thread.call(self.core.close)
        self.thread.stop()


class Both:
    """Kafka and our cluster of its release, an admin on each."""

    def __init__(self, kafka: str, ours: str) -> None:
        self.servers = (kafka, ours)
        self.admins = [Admin(bootstrap_servers=servers) for servers in self.servers]
        self.brokers = [OneBroker(servers, number + 1) for servers in self.servers for number in range(BROKERS)]

    def call_both(self, call: Callable[[Admin], Any]) -> Any:
        """Return the result that both give; errors are results too."""
        kafka, ours = (normalised(_outcome(call, admin)) for admin in self.admins)
        assert ours == kafka
        return kafka

    def settle(self, call: Callable[[AdminCore], Coroutine[Any, Any, T]], settled: Callable[[T], bool]) -> None:
        """Wait until every broker has the change, so that any of them returns it."""
        for broker in self.brokers:
            until(functools.partial(broker.reports, call, settled), bool)

    def create(self, *topics: NewTopic) -> None:
        """Create topics and wait until they can be used."""
        returned = self.call_both(lambda admin: admin.create_topics(topics))
        assert "errors" not in returned, returned
        names = [topic.name for topic in topics]
        self.settle(lambda admin: admin.describe_topics(names), _are_led)

    def close(self) -> None:
        for client in (*self.admins, *self.brokers):
            client.close()


def _outcome(call: Callable[[Admin], Any], admin: Admin) -> Any:
    try:
        return call(admin)
    except ProducerError as error:
        return error


def _are_led(described: dict[str, TopicDescription]) -> bool:
    return all(one.leader is not None for topic in described.values() for one in topic.partitions)


def until(call: Callable[[], T], settled: Callable[[T], bool]) -> T:
    """Retry until a result fits."""
    for _ in attempts("a result that fits", seconds=SETTLE_SECONDS_MAX):
        returned = call()
        if settled(returned):
            return returned
    raise AssertionError


def normalised(returned: Any) -> Any:
    """Without what differs by nature: ids, addresses, paths, times and the words of documentation."""
    if isinstance(returned, ItemsFailed):
        return {"errors": normalised(returned.errors), "done": normalised(returned.done)}
    if isinstance(returned, ProducerError):
        # Whichever node leads the quorum names itself.
        return (type(returned).__name__, returned.error_code.name, re.sub(r"Local controller \d", "", str(returned)))
    if isinstance(returned, Node):
        return (returned.id, returned.rack)
    if isinstance(returned, ClusterDescription):
        return (
            normalised(returned.nodes),
            returned.fenced,
            returned.controller in returned.nodes,
            bool(returned.cluster_id),
        )
    if isinstance(returned, QuorumInfo):
        voters = sorted((voter.replica_id, voter.directory_id is None) for voter in returned.voters)
        return (returned.leader_id in (1, 2), voters, returned.observers, sorted(returned.nodes))
    if isinstance(returned, LogDirDescription):
        return (returned.error, normalised(returned.replicas), returned.total_bytes > 0, returned.is_cordoned)
    if isinstance(returned, ConfigEntry):
        found_one = {one.name: normalised(getattr(returned, one.name)) for one in fields(returned)}
        return found_one | {"documentation": bool(returned.documentation)}
    if isinstance(returned, Enum):
        return returned.name
    if is_dataclass(returned):
        return {
            one.name: bool(value) if one.name == "topic_id" else normalised(value)
            for one in fields(returned)
            if (value := getattr(returned, one.name)) is not NotImplemented
        }
    if isinstance(returned, dict):
        return {str(key): normalised(value) for key, value in returned.items()}
    if isinstance(returned, (list, tuple)):
        return [normalised(one) for one in returned]
    return returned


@pytest.fixture(scope="module", params=RELEASES)
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    with (
        real_kafka(request.param, brokers=BROKERS, settings=SETTINGS) as kafka,
        ThreadedCluster(release=request.param, brokers=BROKERS, config=SETTINGS) as ours,
    ):
        clients = Both(kafka.bootstrap_servers, ours.bootstrap_servers)
        yield clients
        clients.close()


def test_topics_are_created_and_described_alike(both: Both) -> None:
    topics = [
        NewTopic(name="counted", partitions=3, replication_factor=2, configs={"retention.ms": "1000"}),
        NewTopic(name="assigned", assignments={0: [2, 1], 1: [1, 2]}),
    ]
    both.call_both(lambda admin: admin.create_topics(topics, validate_only=True))
    both.create(*topics)
    refused = [
        NewTopic(name="counted"),
        NewTopic(name="no way"),
        NewTopic(name="too-many", partitions=1, replication_factor=3),
        NewTopic(name="odd", configs={"no.such.config": "1"}),
        NewTopic(name="none", partitions=0),
        NewTopic(name="gap", assignments={0: [1], 2: [2]}),
    ]
    failed = both.call_both(lambda admin: admin.create_topics(refused))
    assert failed["done"] == {}
    found_one = both.call_both(lambda admin: admin.describe_topics(["assigned"]))
    assert [one["replicas"] for one in found_one["assigned"]["partitions"]] == [[2, 1], [1, 2]]
    both.call_both(lambda admin: sorted(name for name in admin.list_topics() if name in ("counted", "assigned")))
    both.call_both(lambda admin: admin.describe_topics(["assigned", "nowhere"], partitions_per_response=1))
    both.call_both(lambda admin: list(admin.describe_topics_by_id([_id_of(admin, "assigned")]).values()))
    both.call_both(lambda admin: admin.describe_topics_by_id(["AAAAAAAAAAAAAAAAAAAAAQ"]))
    grow = {"assigned": NewPartitions(total_count=3, assignments=[[1, 2]]), "nowhere": NewPartitions(total_count=2)}
    both.call_both(lambda admin: admin.create_partitions(grow, validate_only=True))
    both.call_both(lambda admin: admin.create_partitions(grow))
    both.settle(
        lambda admin: admin.describe_topics(["assigned"]), lambda found_one: len(found_one["assigned"].partitions) == 3
    )
    both.call_both(lambda admin: admin.create_partitions({"assigned": NewPartitions(total_count=1)}))
    both.call_both(lambda admin: admin.delete_topics(["assigned", "nowhere"]))
    both.call_both(lambda admin: admin.delete_topics_by_id([_id_of(admin, "counted")]))


def _id_of(admin: Admin, name: str) -> str:
    topic_id = until(lambda: admin.list_topics().get(name), lambda listing: listing is not None).topic_id  # type: ignore[union-attr]
    assert topic_id is not None
    return topic_id


def test_configurations_are_described_and_changed_alike(both: Both) -> None:
    both.create(NewTopic(name="configured", partitions=1, replication_factor=1, configs={"retention.ms": "1000"}))
    topic, broker = ConfigResource.topic("configured"), ConfigResource.broker(1)
    both.call_both(lambda admin: admin.describe_configs([topic], include_synonyms=True, include_documentation=True))
    names = ["num.io.threads", "log.retention.ms", "log.cleaner.threads", "no.such.config"]
    both.call_both(lambda admin: admin.describe_configs([broker], names=names, include_synonyms=True))
    changes = {
        topic: [
            AlterConfigOp(name="cleanup.policy", value="compact", operation=ConfigOperation.APPEND),
            AlterConfigOp(name="retention.ms", operation=ConfigOperation.DELETE),
        ],
        broker: [AlterConfigOp(name="log.cleaner.threads", value="2")],
    }
    both.call_both(lambda admin: admin.incremental_alter_configs(changes, validate_only=True))
    both.call_both(lambda admin: admin.incremental_alter_configs(changes))
    both.settle(
        lambda admin: admin.describe_topic_configs("configured"), lambda found_one: found_one["retention.ms"].is_default
    )
    both.settle(
        lambda admin: admin.describe_broker_configs(1), lambda found_one: found_one["log.cleaner.threads"].value == "2"
    )
    both.call_both(
        lambda admin: admin.describe_configs([topic, broker], names=["cleanup.policy", "log.cleaner.threads"])
    )
    refused = {
        topic: [AlterConfigOp(name="retention.ms", value="soon")],
        broker: [AlterConfigOp(name="node.id", value="7")],
        ConfigResource.topic("nowhere"): [AlterConfigOp(name="retention.ms", value="1")],
    }
    both.call_both(lambda admin: admin.incremental_alter_configs(refused))


def test_loggers_and_client_metrics_are_described_and_changed_alike(both: Both) -> None:
    logger = ConfigResource(ConfigResourceType.BROKER_LOGGER, "2")
    quiet = AlterConfigOp(name="kafka.log.LogManager", value="ERROR")
    both.call_both(lambda admin: admin.incremental_alter_configs({logger: [quiet]}))
    both.call_both(
        lambda admin: admin.describe_configs([logger], names=["kafka.log.LogManager"], include_synonyms=True)
    )
    odd = AlterConfigOp(name="kafka.log.LogManager", value="LOUD")
    both.call_both(lambda admin: admin.incremental_alter_configs({logger: [odd]}))
    metrics = ConfigResource(ConfigResourceType.CLIENT_METRICS, "all")
    both.call_both(
        lambda admin: admin.incremental_alter_configs({metrics: [AlterConfigOp(name="interval.ms", value="60000")]})
    )
    both.settle(
        lambda admin: admin.list_config_resources([ConfigResourceType.CLIENT_METRICS]),
        lambda found_one: found_one == [metrics],
    )
    both.call_both(lambda admin: admin.describe_configs([metrics], include_synonyms=True))
    both.call_both(
        lambda admin: admin.incremental_alter_configs({metrics: [AlterConfigOp(name="interval.ms", value="1")]})
    )
    both.call_both(
        lambda admin: [one for one in admin.list_config_resources() if one.type is ConfigResourceType.CLIENT_METRICS]
    )


def test_offsets_are_listed_and_records_deleted_alike(both: Both) -> None:
    both.create(NewTopic(name="timed", assignments={0: [1], 1: [2]}))
    key, empty = TopicPartition("timed", 0), TopicPartition("timed", 1)
    for servers in both.servers:
        with Producer(bootstrap_servers=servers) as producer:
            for timestamp_ms in (1_000, 3_000, 2_000):
                producer.send("timed", b"x", partition=0, timestamp_ms=timestamp_ms).result(30)
    specs = [OffsetSpec.EARLIEST, OffsetSpec.LATEST, OffsetSpec.MAX_TIMESTAMP, OffsetSpec.EARLIEST_LOCAL, 1_500, 9_000]
    for spec in specs:
        both.call_both(lambda admin, spec=spec: admin.list_offsets({key: spec, empty: spec}))  # type: ignore[misc]
    both.call_both(lambda admin: admin.list_offsets({key: OffsetSpec.LATEST_TIERED}))
    both.call_both(lambda admin: admin.list_offsets({key: OffsetSpec.LATEST}, isolation_level="read_committed"))
    both.call_both(lambda admin: admin.delete_records({key: 2, empty: 5}))
    both.call_both(lambda admin: admin.list_offsets({key: OffsetSpec.EARLIEST}))
    both.call_both(lambda admin: admin.delete_records({key: HIGH_WATERMARK}))


def test_leaders_replicas_and_log_directories_are_described_alike(both: Both) -> None:
    both.create(NewTopic(name="moved", assignments={0: [1, 2]}))
    key = TopicPartition("moved", 0)
    both.call_both(lambda admin: admin.elect_leaders(ElectionType.PREFERRED, [key, TopicPartition("nowhere", 0)]))
    both.call_both(lambda admin: admin.alter_partition_reassignments({key: [2, 1], TopicPartition("nowhere", 0): [1]}))
    both.settle(AdminCore.list_partition_reassignments, lambda moving: moving == {})
    both.call_both(lambda admin: admin.elect_leaders(ElectionType.PREFERRED, [key]))
    both.settle(
        lambda admin: admin.describe_topics(["moved"]), lambda found_one: found_one["moved"].partitions[0].leader == 2
    )
    both.call_both(lambda admin: admin.elect_leaders(ElectionType.UNCLEAN, [key]))
    both.call_both(lambda admin: admin.alter_partition_reassignments({key: None}))
    both.call_both(lambda admin: admin.alter_partition_reassignments({key: [7]}))
    both.settle(
        lambda admin: admin.describe_log_dirs([2]),
        lambda found_one: any(key in one.replicas for one in found_one[2].values()),
    )
    both.call_both(lambda admin: [one.replicas.get(key) for one in admin.describe_log_dirs([2])[2].values()])
    both.call_both(lambda admin: admin.alter_replica_log_dirs({TopicPartitionReplica("moved", 0, 2): "/nowhere"}))


def test_the_cluster_its_features_and_its_quotas_are_described_alike(both: Both) -> None:
    both.call_both(Admin.describe_cluster)
    both.call_both(Admin.describe_metadata_quorum)
    both.call_both(lambda admin: [sorted(level.items()) for level in _levels(admin)])
    both.call_both(lambda admin: admin.describe_cluster(include_fenced_brokers=True))
    both.call_both(lambda admin: admin.update_features({"no.such.feature": FeatureUpdate(max_version_level=1)}))
    mine, default = QuotaEntity.of({"client-id": "me"}), QuotaEntity.of({"user": "anna", "client-id": None})
    quotas = {mine: {"producer_byte_rate": 1_000.0}, default: {"request_percentage": 50.0}}
    both.call_both(lambda admin: admin.alter_client_quotas(quotas))
    both.settle(AdminCore.describe_client_quotas, lambda found_one: len(found_one) == 2)
    both.call_both(lambda admin: sorted(map(str, admin.describe_client_quotas())))
    both.call_both(lambda admin: admin.describe_client_quotas(QuotaFilter(exactly={"client-id": "me"})))
    both.call_both(lambda admin: admin.alter_client_quotas({mine: {"no_such_rate": 1.0}}))
    both.call_both(lambda admin: admin.alter_client_quotas({mine: {"producer_byte_rate": None}}))


def test_access_control_entries_are_alike(both: Both) -> None:
    ann, all_of_it = (
        AclBinding(
            resource_type=ResourceType.TOPIC,
            resource_name=name,
            pattern_type=pattern,
            principal="User:ann",
            operation=AclOperation.READ,
            permission_type=AclPermissionType.ALLOW,
        )
        for name, pattern in (("orders", PatternType.LITERAL), ("or", PatternType.PREFIXED))
    )
    nameless = dataclasses.replace(ann, resource_name="")
    both.call_both(lambda admin: admin.create_acls([ann, all_of_it, ann]))
    both.call_both(lambda admin: admin.create_acls([nameless, ann]))
    both.settle(AdminCore.describe_acls, lambda found: len(found) == 2)
    both.call_both(lambda admin: sorted(map(str, admin.describe_acls())))
    of_orders = AclBindingFilter(resource_name="orders", pattern_type=PatternType.MATCH)
    both.call_both(lambda admin: sorted(map(str, admin.describe_acls(of_orders))))
    nothing = AclBindingFilter(principal="User:bob")
    both.call_both(lambda admin: admin.delete_acls([nothing]))
    deleted = both.call_both(lambda admin: sorted(map(str, admin.delete_acls([of_orders])[of_orders])))
    assert len(deleted) == 2


def test_scram_credentials_are_alike(both: Both) -> None:
    def put(user: str, mechanism: ScramMechanism, iterations: int = 4096) -> UserScramCredentialUpsertion:
        info = ScramCredentialInfo(mechanism, iterations)
        return UserScramCredentialUpsertion(user=user, credential_info=info, password="secret")

    sha_256, sha_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
    both.call_both(lambda admin: admin.describe_user_scram_credentials())
    both.call_both(lambda admin: admin.alter_user_scram_credentials([put("ann", sha_256), put("bob", sha_512, 9000)]))
    both.settle(AdminCore.describe_user_scram_credentials, lambda found: len(found) == 2)
    both.call_both(lambda admin: admin.describe_user_scram_credentials())
    both.call_both(lambda admin: admin.describe_user_scram_credentials(["ann", "cat", "bob"]))
    wrong = [put("cat", sha_256, 1), put("dan", sha_256), put("dan", sha_512), put("eve", ScramMechanism.UNKNOWN)]
    gone = [UserScramCredentialDeletion(user=user, mechanism=sha_256) for user in ("ann", "bob")]
    both.call_both(lambda admin: admin.alter_user_scram_credentials([*wrong, *gone]))
    both.settle(AdminCore.describe_user_scram_credentials, lambda found: len(found) == 1)


def _levels(admin: Admin) -> list[dict[str, Any]]:
    features = admin.describe_features()
    return [
        {name: (one.lowest, one.highest) for name, one in found_one.items()}
        for found_one in (features.finalized, features.supported)
    ]


def test_a_consumer_leaves_out_what_was_aborted(both: Both) -> None:
    servers = both.servers[0]
    both.admins[0].create_topic("ended", partitions=1, replication_factor=2)
    key = TopicPartition("ended", 0)
    with Producer(bootstrap_servers=servers, transactional_id="writer") as producer:
        producer.init_transactions()
        for number, commits in ((1, True), (2, False), (3, True), (4, False)):
            producer.begin_transaction()
            producer.send("ended", b"%d" % number, partition=0)
            producer.flush()
            (producer.commit_transaction if commits else producer.abort_transaction)()
        producer.begin_transaction()
        producer.send("ended", b"5", partition=0).result(30)
        assert read(servers, key, "read_uncommitted") == [b"1", b"2", b"3", b"4", b"5"]
        assert read(servers, key, "read_committed") == [b"1", b"3"]
        producer.commit_transaction()
    # The commit is acknowledged before its marker is written.
    until(lambda: read(servers, key, "read_committed"), lambda values: values == [b"1", b"3", b"5"])


def read(servers: str, key: TopicPartition, isolation_level: str) -> list[bytes | None]:
    """Everything up to the end that the level sees."""
    with Consumer(bootstrap_servers=servers, isolation_level=isolation_level) as consumer:
        consumer.assign([key])
        end = consumer.end_offsets([key])[key]
        values: list[bytes | None] = []
        while consumer.position(key) < end:
            values += [record.value for record in consumer.poll(1.0)]
        return values
