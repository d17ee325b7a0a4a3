"""The metadata log is the truth: its records, encoded, decoded and replayed, lead to the controller's image."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.config.config_resource import ConfigOperation, ResourceType
from broker_sim.control.events import Detail
from broker_sim.errors import BrokerSimError
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.metadata.metadata_log_codec import decode_batches, image_of_snapshot
from broker_sim.metadata.metadata_replay import replay
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.elect_leaders import ElectLeadersRequest
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from protocol_specs.schemas.metadata.topic_record import TopicRecord
from sim_runtime.world import World

if TYPE_CHECKING:
    from broker_sim.metadata.metadata_log import MetadataBatch

RELEASES = ("3.7.2", "4.3.1")
BROKERS = (1, 2, 3)
TOPICS = ("t", "u", "v")
CONFIG = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "1500",
    "unclean.leader.election.interval.ms": "1000",
}

brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(TOPICS)
replicas = st.lists(brokers, min_size=1, max_size=3, unique=True)


def assert_same_image(replayed: MetadataImage, image: MetadataImage, *, in_order: bool = True) -> None:
    """Equal in every part, topics and brokers in the same order too; the tables of quotas only `in_order`."""
    for part in fields(MetadataImage):
        if part.name == "client_quotas":
            quotas = [[(entity.key, of) for entity, of in each.client_quotas.items()] for each in (replayed, image)]
            assert quotas[0] == quotas[1] if in_order else dict(quotas[0]) == dict(quotas[1])
        else:
            assert getattr(replayed, part.name) == getattr(image, part.name), part.name
    for name in ("topics", "brokers", "topics_by_id"):
        assert list(getattr(replayed, name)) == list(getattr(image, name)), name


class Recorded:
    """A cluster whose every batch is replayed from bytes as soon as it is committed."""

    def __init__(self, release: str) -> None:
        self.world = World(0)
        config = {key: value for key, value in CONFIG.items() if release != "3.7.2" or "unclean" not in key}
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            topics=[TopicSpec(name="t", partitions=2, replication_factor=3, configs={"min.insync.replicas": "2"})],
            config=config,
            release=release,
            listen=False,
            journal_detail=Detail.CLUSTER,
        )
        controller = self.cluster.controller
        self.log = controller.metadata_log
        self.replayed = self.log.image
        self.log.on_commit(self._check)
        self.cluster.start()

    def _check(self, batch: MetadataBatch) -> None:
        (decoded,) = decode_batches(batch.encode())
        assert (decoded.base_offset, decoded.last_offset) == (batch.base_offset, batch.last_offset)
        assert decoded.leader_epoch == batch.leader_epoch
        self.replayed = replay(self.replayed, decoded.messages, version=decoded.last_offset)
        assert_same_image(self.replayed, self.log.image)

    def send(self, request: Any) -> None:
        """Let broker 1 forward a request, and run until its response has had time to arrive."""
        broker = next((each for each in self.cluster.brokers.values() if each.alive), None)
        if broker is not None:
            broker.forward_to_controller(request, timeout_ms=1_000).addErrback(lambda _: None)
        self.world.run_for(ms=50)


class MetadataMachine(RuleBasedStateMachine):
    release = RELEASES[1]

    @initialize()
    def start(self) -> None:
        self.recorded = Recorded(self.release)
        self.cluster = self.recorded.cluster

    @rule(name=topics, partitions=st.integers(1, 3), factor=st.integers(1, 3), unclean=st.booleans())
    def create_topic(self, name: str, partitions: int, factor: int, unclean: bool) -> None:
        configs = [
            CreatableTopicConfig(name="unclean.leader.election.enable", value=str(unclean).lower()),
            CreatableTopicConfig(name="min.insync.replicas", value="2"),
        ]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=factor, assignments=[], configs=configs
        )
        self.recorded.send(CreateTopicsRequest(topics=[topic], timeout_ms=1_000))

    @rule(name=topics)
    def delete_topic(self, name: str) -> None:
        self.recorded.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1_000))

    @rule(name=topics, count=st.integers(1, 5))
    def create_partitions(self, name: str, count: int) -> None:
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        self.recorded.send(CreatePartitionsRequest(topics=[topic], timeout_ms=1_000, validate_only=False))

    @rule(
        resource=st.sampled_from(
            [
                (ResourceType.TOPIC, "t"),
                (ResourceType.TOPIC, "u"),
                (ResourceType.BROKER, "1"),
                (ResourceType.BROKER, ""),
            ]
        ),
        name=st.sampled_from(["min.insync.replicas", "retention.ms", "log.cleaner.threads", "compression.type"]),
        value=st.sampled_from([None, "1", "2", "gzip"]),
    )
    def alter_config(self, resource: tuple[ResourceType, str], name: str, value: str | None) -> None:
        operation = ConfigOperation.DELETE if value is None else ConfigOperation.SET
        change = AlterableConfig(name=name, config_operation=operation, value=value)
        requested = AlterConfigsResource(resource_type=resource[0], resource_name=resource[1], configs=[change])
        self.recorded.send(IncrementalAlterConfigsRequest(resources=[requested]))

    @rule(user=st.sampled_from(["ann", "bob", None]), rate=st.sampled_from([None, 5.0, 1e9]))
    def alter_quota(self, user: str | None, rate: float | None) -> None:
        keys = ("producer_byte_rate", "consumer_byte_rate")
        ops = [OpData(key=key, value=rate or 0.0, remove=rate is None) for key in keys]
        entity = [EntityData(entity_type="user", entity_name=user)]
        self.recorded.send(AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=ops)], validate_only=False))

    @rule(
        users=st.lists(st.sampled_from(["ann", "bob", "cat", "dan"]), min_size=1, max_size=4, unique=True),
        mechanism=st.sampled_from([1, 2]),
        iterations=st.sampled_from([None, 4096, 5000]),
    )
    def alter_scram_credentials(self, users: list[str], mechanism: int, iterations: int | None) -> None:
        request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[])
        for user in users:
            if iterations is None:
                request.deletions.append(ScramCredentialDeletion(name=user, mechanism=mechanism))
            else:
                upsertion = ScramCredentialUpsertion(
                    name=user, mechanism=mechanism, iterations=iterations, salt=b"s", salted_password=b"p"
                )
                request.upsertions.append(upsertion)
        self.recorded.send(request)

    @rule(name=topics, wanted=st.one_of(st.none(), replicas))
    def reassign(self, name: str, wanted: list[int] | None) -> None:
        partition = ReassignablePartition(partition_index=0, replicas=wanted)
        topic = ReassignableTopic(name=name, partitions=[partition])
        self.recorded.send(AlterPartitionReassignmentsRequest(timeout_ms=1_000, topics=[topic]))

    @rule(election=st.sampled_from([0, 1]))
    def elect(self, election: int) -> None:
        self.recorded.send(ElectLeadersRequest(election_type=election, topic_partitions=None, timeout_ms=1_000))

    @rule(
        name=st.sampled_from(["share.version", "eligible.leader.replicas.version"]),
        change=st.sampled_from([(0, 2), (1, 1)]),
    )
    def update_feature(self, name: str, change: tuple[int, int]) -> None:
        update = FeatureUpdateKey(feature=name, max_version_level=change[0], upgrade_type=change[1])
        self.recorded.send(UpdateFeaturesRequest(feature_updates=[update]))

    @rule(broker=brokers)
    def allocate_producer_ids(self, broker: int) -> None:
        if self.cluster.brokers[broker].alive:
            self.cluster.brokers[broker].producer_ids.generate()

    @rule(broker=brokers)
    def kill(self, broker: int) -> None:
        self.cluster.kill(broker)

    @rule(broker=brokers)
    def stop(self, broker: int) -> None:
        self.cluster.stop(broker)

    @rule(broker=brokers)
    def restart(self, broker: int) -> None:
        if not self.cluster.brokers[broker].alive:
            self.cluster.restart(broker)

    @rule(broker=brokers)
    def unregister(self, broker: int) -> None:
        self.recorded.send(UnregisterBrokerRequest(broker_id=broker))

    @rule(ms=st.sampled_from([10, 600, 3_000]))
    def time_passes(self, ms: int) -> None:
        self.recorded.world.run_for(ms=ms)

    @rule()
    def a_snapshot_holds_the_whole_image(self) -> None:
        snapshot = self.recorded.log.make_snapshot()
        empty = MetadataImage.empty(self.cluster.cluster_id)
        loaded = image_of_snapshot(snapshot.encode(), empty, end_offset=snapshot.id.end_offset)
        # A table that is filled again may list entities of one bucket in another order, in Kafka too.
        assert_same_image(loaded, snapshot.image, in_order=False)

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            self.cluster.close()


@pytest.mark.parametrize("release", RELEASES)
def test_every_commit_and_every_snapshot_is_its_records_replayed(release: str) -> None:
    class Machine(MetadataMachine):
        pass

    Machine.release = release
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_without_the_feature_another_minimum_clears_no_eligible_leaders() -> None:
    machine = MetadataMachine()
    machine.start()
    machine.stop(broker=1)
    machine.unregister(broker=2)
    machine.update_feature(name="eligible.leader.replicas.version", change=(0, 2))
    machine.alter_config(resource=(ResourceType.TOPIC, "t"), name="min.insync.replicas", value="1")
    assert machine.cluster.controller.image.topics["t"].partitions[0].elr
    machine.teardown()


def test_a_record_of_an_unknown_type_is_named() -> None:
    class StrangeRecord(TopicRecord):
        pass

    with pytest.raises(BrokerSimError, match="has a StrangeRecord, which is not replayed"):
        replay(MetadataImage.empty("cluster"), [StrangeRecord(name="t", topic_id=bytes(16))], version=1)
