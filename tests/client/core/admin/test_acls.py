"""Access control entries, and the errors of clients that lose a right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    Admin,
    PatternType,
    ResourceType,
)
from broker_client.consumer import Consumer
from broker_client.consumer_errors import GroupAuthorizationFailed
from broker_client.core.admin.calls import ItemsFailed
from broker_client.errors import TopicAuthorizationFailed
from broker_client.producer import Producer
from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


def deny(operation: AclOperation, resource_type: ResourceType, name: str) -> AclBinding:
    return AclBinding(
        resource_type=resource_type,
        resource_name=name,
        principal="User:*",
        operation=operation,
        permission_type=AclPermissionType.DENY,
    )


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    topics = [TopicSpec(name=name, partitions=1, replication_factor=1) for name in ("t", "u")]
    with ThreadedCluster(brokers=1, topics=topics, config=CONFIG) as cluster:
        yield cluster.bootstrap_servers


def test_entries_are_created_described_and_deleted(servers: str) -> None:
    with Admin(bootstrap_servers=servers) as admin:
        first, second = (deny(AclOperation.DELETE, ResourceType.TOPIC, name) for name in ("a", "b"))
        admin.create_acls([first, second, first])
        of_a = AclBindingFilter(resource_name="a", pattern_type=PatternType.MATCH)
        assert admin.describe_acls(of_a) == [first]
        assert admin.describe_acls() == [second, first]
        assert admin.delete_acls([of_a]) == {of_a: [first]}
        assert admin.describe_acls() == [second]
        with pytest.raises(ItemsFailed, match="Invalid empty resource name"):
            admin.create_acls([deny(AclOperation.READ, ResourceType.TOPIC, "")])


def test_clients_raise_what_they_may_not_do(servers: str) -> None:
    with Admin(bootstrap_servers=servers) as admin, Producer(bootstrap_servers=servers) as producer:
        assert producer.send("t", b"v").result(10).offset == 0
        admin.create_acls([deny(AclOperation.WRITE, ResourceType.TOPIC, "t")])
        with pytest.raises(TopicAuthorizationFailed, match="t"):
            producer.send("t", b"v").result(10)
        admin.create_acls([deny(AclOperation.READ, ResourceType.GROUP, "g")])
        with Consumer(bootstrap_servers=servers, group_id="g") as consumer:
            consumer.subscribe(["u"])
            with pytest.raises(GroupAuthorizationFailed, match="'g'"):
                consumer.poll(10_000)
