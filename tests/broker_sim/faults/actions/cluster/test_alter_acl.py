from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.security.acl import AclOperation, AclPermissionType, PatternType, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


def test_an_entry_holds_until_the_rule_closes(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(config=AUTHORIZER)

    def acls() -> list[Any]:
        return list(made.cluster.controller.image.acls.values())

    act = {"alter_acl": {"permission": "DENY", "operation": "WRITE", "topic": "or", "prefix": True, "host": "10.0.0.1"}}
    assert fire(made, act, until={"delay_ms": 1_000}).problem is None
    write, deny = AclOperation.WRITE, AclPermissionType.DENY
    assert acls() == [(ResourceType.TOPIC, "or", PatternType.PREFIXED, "User:*", "10.0.0.1", write, deny)]
    made.run(ms=2_000)
    assert acls() == []


def test_the_cluster_is_one_resource(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(config=AUTHORIZER)
    act = {"alter_acl": {"permission": "ALLOW", "operation": "ALTER", "cluster": True, "principal": "User:a"}}
    assert fire(made, act).problem is None
    [acl] = made.cluster.controller.image.acls.values()
    assert (acl.resource_type, acl.resource_name, acl.principal) == (ResourceType.CLUSTER, "kafka-cluster", "User:a")


def test_without_an_authorizer_it_is_the_problem_of_the_rule(
    replicas: Callable[..., Any], fire: Callable[..., Any]
) -> None:
    act = {"alter_acl": {"permission": "DENY", "operation": "WRITE", "topic": "orders"}}
    assert "CreateAcls: SECURITY_DISABLED" in fire(replicas(), act).problem
