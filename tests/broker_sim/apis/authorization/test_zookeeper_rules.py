"""The rules of brokers in ZooKeeper mode: those of controllers for what is not forwarded, by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.authorization.rule import FORWARDED
from broker_sim.apis.authorization.zookeeper_rules import ZOOKEEPER_RULES
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData
from protocol_specs.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.elect_leaders import ElectLeadersRequest
from protocol_specs.messages.elect_leaders import TopicPartitions as ElectTopic
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.messages.sync_group import SyncGroupRequest
from protocol_specs.messages.update_features import UpdateFeaturesRequest
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SIMPLE = "kafka.security.auth.SimpleAclAuthorizer"
AUTHORIZERS = dict.fromkeys(("1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1"), SIMPLE)
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
TOPIC, GROUP, CLUSTER = 2, 3, 4
WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, IDEMPOTENT_WRITE = 4, 5, 6, 7, 8, 9, 12


class Guarded:
    """One broker, and the entries of its client."""

    def __init__(self, bench: Callable[..., ApiBench], release: str, *, brokers: int = 1, **others: str) -> None:
        config = {
            **others,
            "authorizer.class.name": AUTHORIZERS.get(release, ACL_AUTHORIZER),
            "allow.everyone.if.no.acl.found": "true",
        }
        self.bench = bench(
            release=release,
            brokers=brokers,
            config=config,
            topics=[TopicSpec(name="t", partitions=2, replication_factor=1)],
        )

    def grant(self, kind: int, name: str, *operations: int, permission: int = 3) -> None:
        creations = [
            AclCreation(
                resource_type=kind,
                resource_name=name,
                principal="User:ANONYMOUS",
                host="*",
                operation=operation,
                permission_type=permission,
            )
            for operation in operations
        ]
        results = self.bench.call(CreateAclsRequest(creations=creations), 0).results
        assert {each.error_code for each in results} == {0}

    def init(self) -> int:
        plain = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
        code: int = self.bench.exchange(plain, 1).error_code
        return code

    def produce(self, *, producer_id: int) -> int:
        return self.produce_both(producer_id)

    def produce_both(self, *producer_ids: int) -> int:
        """Return the error of partition 0, after one batch for each partition."""
        partitions = []
        for index, producer_id in enumerate(producer_ids):
            builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0)
            builder.append(1, None, b"v")
            partitions.append(PartitionProduceData(index=index, records=bytes(builder.build())))
        topic = TopicProduceData(name="t", partition_data=partitions)
        response: Any = self.bench.call(ProduceRequest(acks=-1, timeout_ms=100, topic_data=[topic]), 5)
        code: int = response.responses[0].partition_responses[0].error_code
        return code


@pytest.mark.parametrize(("release", "needs_the_cluster"), [("2.3.1", True), ("2.7.2", True), ("2.8.2", False)])
def test_idempotent_producers_need_the_cluster_before_2_8(
    bench: Callable[..., ApiBench], release: str, needs_the_cluster: bool
) -> None:
    made = Guarded(bench, release)
    assert (made.init(), made.produce(producer_id=1)) == (0, 0)
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION, ALTER)
    made.grant(TOPIC, "t", WRITE)
    refused = 31 if needs_the_cluster else 0
    assert (made.init(), made.produce(producer_id=2)) == (refused, refused)
    assert made.produce(producer_id=-1) == 0
    made.grant(CLUSTER, "kafka-cluster", IDEMPOTENT_WRITE)
    assert (made.init(), made.produce(producer_id=3)) == (0, 0)


def test_without_a_topic_to_write_to_2_8_refuses_the_producer_id(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "2.8.2")
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION, ALTER)
    made.grant(TOPIC, "*", WRITE, permission=2)
    assert (made.init(), made.produce(producer_id=1)) == (31, 29)


def test_nothing_is_left_to_another_node() -> None:
    assert FORWARDED not in ZOOKEEPER_RULES.values()


def test_the_broker_checks_what_it_does_not_forward(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "2.7.2")
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION, ALTER)
    wanted = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=1_000)
    made.grant(TOPIC, "new", WRITE)
    refused = made.bench.exchange(request, 5).topics[0]
    assert (refused.error_code, refused.topic_config_error_code) == (29, 29)
    made.grant(TOPIC, "new", CREATE)
    assert made.bench.exchange(request, 4).topics[0].error_code == 0


def test_the_controller_alone_checks_alterations_of_credentials(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "3.2", brokers=2)
    made.grant(CLUSTER, "kafka-cluster", ALTER, permission=2)
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="ann", mechanism=1)], upsertions=[]
    )
    for broker_id, error_code in ((1, 31), (2, 41)):
        (result,) = made.bench.exchange(request, 0, broker_id=broker_id).results
        assert (result.user, result.error_code, result.error_message) == ("ann", error_code, None)


def test_a_broker_that_is_not_the_controller_checks_nothing_about_topics(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "2.7.2", brokers=2)
    made.grant(TOPIC, "t", WRITE)
    made.bench.settle()
    wanted = CreatePartitionsTopic(name="t", count=3, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=1_000)
    results = [made.bench.exchange(request, 2, broker_id=each).results[0] for each in (1, 2)]
    assert [(each.error_code, each.error_message) for each in results] == [
        (29, "The topic authorization is failed."),
        (41, None),
    ]


def test_refusals_have_the_texts_of_brokers_in_zookeeper_mode(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "2.7.2")
    made.grant(TOPIC, "t", WRITE)
    deleting = DeleteTopicsRequest(topic_names=["none", "t", "nothing"], timeout_ms=1_000)
    made.grant(TOPIC, "nothing", WRITE)
    deleted = made.bench.exchange(deleting, 5).responses
    assert [(each.name, each.error_code, each.error_message) for each in deleted] == [
        ("none", 3, None),
        ("t", 29, None),
        ("nothing", 29, None),
    ]
    configs = AlterConfigsRequest(resources=[AlterConfigsResource(resource_type=2, resource_name="t", configs=[])])
    altered = made.bench.exchange(configs, 1)
    assert [(each.error_code, each.error_message) for each in altered.responses] == [(29, None)]
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    elected = made.bench.exchange(ElectLeadersRequest(topic_partitions=[ElectTopic(topic="t", partitions=[0])]), 2)
    [result] = elected.replica_election_results[0].partition_result
    assert (elected.error_code, result.error_code, result.error_message) == (31, 31, None)
    features = made.bench.exchange(UpdateFeaturesRequest(), 0)
    assert (features.error_code, features.error_message) == (31, "Cluster authorization failed.")


def test_a_topic_is_deleted_by_its_id_and_shown_if_it_may_be(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "2.8.2")
    topic_id = made.bench.cluster.brokers[1].metadata_cache.image.topics["t"].topic_id
    by_id = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=None, topic_id=each) for each in (b"\1" * 16, topic_id)], timeout_ms=1_000
    )
    made.grant(TOPIC, "t", CREATE)
    hidden = made.bench.exchange(by_id, 6).responses
    assert [(each.name, each.error_code) for each in hidden] == [(None, 100), (None, 29)]
    made.grant(TOPIC, "t", WRITE)
    assert [(each.name, each.error_code) for each in made.bench.exchange(by_id, 6).responses][1] == ("t", 29)
    made.grant(TOPIC, "t", DELETE)
    assert [(each.name, each.error_code) for each in made.bench.exchange(by_id, 6).responses][1] == ("t", 0)


@pytest.mark.parametrize(("release", "text"), [("2.7.2", None), ("2.8.2", "Cluster authorization failed.")])
def test_refused_quotas_have_a_text_from_2_8_on(bench: Callable[..., ApiBench], release: str, text: str | None) -> None:
    made = Guarded(bench, release)
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    entry = EntryData(entity=[EntityData(entity_type="user", entity_name="u")], ops=[])
    response = made.bench.exchange(AlterClientQuotasRequest(entries=[entry]), 0)
    assert [(each.error_code, each.error_message) for each in response.entries] == [(31, text)]


@pytest.mark.parametrize(("release", "end"), [("2.7.2", "buffer=null)"), ("2.8.2", "buffer=null, envelope=None)")])
def test_the_text_of_a_refused_cluster_operation_prints_the_request(
    bench: Callable[..., ApiBench], release: str, end: str
) -> None:
    made = Guarded(bench, release)
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    request = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
            )
        ]
    )
    [result] = made.bench.exchange(request, 2).results
    assert result.error_message.endswith(f"{end} is not authorized.")


@pytest.mark.parametrize(
    ("release", "described", "deleted"),
    [("3.4.1", ["b", "a", "c"], ["a", "b", "c"]), ("3.5.2", ["a", "b", "c"], ["b", "c", "a"])],
)
def test_refused_groups_have_a_place_in_the_response(
    bench: Callable[..., ApiBench], release: str, described: list[str], deleted: list[str]
) -> None:
    config = {"zookeeper.connect": "zookeeper:2181"}
    made = Guarded(bench, release, **config)
    made.grant(GROUP, "a", CREATE)
    response = made.bench.exchange(DescribeGroupsRequest(groups=["b", "a", "c"]), 5)
    assert [each.group_id for each in response.groups] == described
    assert {each.group_id for each in response.groups if each.error_code == 30} == {"a"}
    results = made.bench.exchange(DeleteGroupsRequest(groups_names=["b", "a", "c"]), 2).results
    assert [each.group_id for each in results] == deleted


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("2.2.2", None),
        ("2.3.1", "Not authorized to access group: Group authorization failed."),
        ("2.4.1", "Group authorization failed."),
    ],
)
def test_the_text_of_a_refused_coordinator_is_the_releases(
    bench: Callable[..., ApiBench], release: str, text: str | None
) -> None:
    made = Guarded(bench, release)
    made.grant(GROUP, "g", CREATE)
    response = made.bench.exchange(FindCoordinatorRequest(key="g", key_type=0), 1)
    assert (response.error_code, response.error_message) == (30, text)


@pytest.mark.parametrize(("release", "text"), [("2.2.2", None), ("2.3.1", "Authorization failed.")])
def test_the_text_of_a_refused_creation_is_the_releases(
    bench: Callable[..., ApiBench], release: str, text: str | None
) -> None:
    made = Guarded(bench, release)
    made.grant(TOPIC, "new", WRITE)
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    wanted = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    response = made.bench.exchange(CreateTopicsRequest(topics=[wanted], timeout_ms=1_000), 3)
    assert [(each.error_code, each.error_message) for each in response.topics] == [(29, text)]


def test_a_sync_without_its_protocol_is_refused_before_its_group(bench: Callable[..., ApiBench]) -> None:
    made = Guarded(bench, "2.8.2")
    made.grant(GROUP, "g", CREATE)
    bare = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    whole = SyncGroupRequest(
        group_id="g", generation_id=1, member_id="m", protocol_type="consumer", protocol_name="range", assignments=[]
    )
    assert [made.bench.exchange(each, 5).error_code for each in (bare, whole)] == [23, 30]


@pytest.mark.parametrize(("release", "codes"), [("1.1.1", [31, 31]), ("2.0.1", [0, 29])])
def test_topics_are_created_by_right_of_the_cluster_before_2_0(
    bench: Callable[..., ApiBench], release: str, codes: list[int]
) -> None:
    made = Guarded(bench, release)
    made.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION, ALTER)
    made.grant(TOPIC, "denied", WRITE)
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("new", "denied")]
    response = made.bench.exchange(CreateTopicsRequest(topics=topics, timeout_ms=1_000), 2)
    assert [each.error_code for each in response.topics] == codes
    made.grant(TOPIC, "auto", CREATE, DESCRIBE)
    created = made.bench.exchange(MetadataRequest(topics=[MetadataRequestTopic(name="auto")]), 4)
    assert created.topics[0].error_code == (29 if 31 in codes else 5)


@pytest.mark.parametrize(("release", "code"), [("2.0.1", 31), ("2.1.1", 0)])
def test_groups_and_epochs_need_the_cluster_before_2_1(bench: Callable[..., ApiBench], release: str, code: int) -> None:
    made = Guarded(bench, release)
    made.grant(CLUSTER, "kafka-cluster", ALTER)
    made.grant(CLUSTER, "kafka-cluster", DESCRIBE, permission=2)
    assert made.bench.exchange(ListGroupsRequest(), 1).error_code == code
    partition = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[partition])])
    response = made.bench.exchange(request, 1)
    assert response.topics[0].partitions[0].error_code == code


@pytest.mark.parametrize(("release", "codes"), [("2.0.1", [0, 31]), ("2.1.1", [31, 31])])
def test_the_last_record_set_decides_before_2_1(bench: Callable[..., ApiBench], release: str, codes: list[int]) -> None:
    made = Guarded(bench, release)
    made.grant(CLUSTER, "kafka-cluster", ALTER)
    assert [made.produce_both(1, -1), made.produce_both(-1, 1)] == codes


@pytest.mark.parametrize(("release", "epoch"), [("2.2.2", 0), ("2.3.1", -1)])
def test_a_refused_producer_id_has_epoch_0_before_2_3(bench: Callable[..., ApiBench], release: str, epoch: int) -> None:
    made = Guarded(bench, release)
    made.grant(CLUSTER, "kafka-cluster", ALTER)
    response = made.bench.exchange(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 1)
    assert (response.error_code, response.producer_epoch) == (31, epoch)
