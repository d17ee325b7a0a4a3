"""The rules of brokers in ZooKeeper mode: those of controllers for what is not forwarded, by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.authorization.rule import FORWARDED
from broker_sim.apis.authorization.zookeeper_rules import ZOOKEEPER_RULES
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

AUTHORIZERS = {"2.3.1": "kafka.security.auth.SimpleAclAuthorizer"}
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
TOPIC, CLUSTER = 2, 4
CREATE, WRITE, ALTER, CLUSTER_ACTION, IDEMPOTENT_WRITE = 5, 4, 7, 9, 12


class Guarded:
    """One broker, and the entries of its client."""

    def __init__(self, bench: Callable[..., ApiBench], release: str, *, brokers: int = 1) -> None:
        config = {
            "authorizer.class.name": AUTHORIZERS.get(release, ACL_AUTHORIZER),
            "allow.everyone.if.no.acl.found": "true",
        }
        self.bench = bench(
            brokers=brokers,
            release=release,
            config=config,
            topics=[TopicSpec(name="t", partitions=1, replication_factor=1)],
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
        results = self.bench.call(CreateAclsRequest(creations=creations), 1).results
        assert {each.error_code for each in results} == {0}

    def init(self) -> int:
        plain = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
        code: int = self.bench.exchange(plain, 1).error_code
        return code

    def produce(self, *, producer_id: int) -> int:
        builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0)
        builder.append(1, None, b"v")
        data = PartitionProduceData(index=0, records=bytes(builder.build()))
        topic = TopicProduceData(name="t", partition_data=[data])
        response: Any = self.bench.call(ProduceRequest(acks=-1, timeout_ms=100, topic_data=[topic]), 7)
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
    assert made.bench.exchange(request, 4).topics[0].error_code == 29
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
