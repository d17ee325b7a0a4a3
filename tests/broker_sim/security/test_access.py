"""The rights of one client."""

from __future__ import annotations

from broker_sim.config.authorizer_settings import AuthorizerSettings
from broker_sim.security.access import Access
from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.security.authorizer import Authorizer

READS_T = Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)


def test_operations_are_a_bit_field_of_those_that_the_release_knows() -> None:
    access = Access(Authorizer(AuthorizerSettings(), lambda: {b"1": READS_T}), "User:a", "10.0.0.1")
    assert access.operations(ResourceType.TOPIC, "t") == 1 << 3 | 1 << 8
    assert access.operations(ResourceType.TOPIC, "t", mask=1 << 8) == 1 << 8
    assert access.operations(ResourceType.TOPIC, "u") == 0
    assert access.topics(AclOperation.DESCRIBE, ["t", "u", "t"]) == {"t"}
    assert not access.cluster(AclOperation.DESCRIBE)
    assert not access.group(AclOperation.READ, "t")
    assert not access.transactional_id(AclOperation.WRITE, "t")
    assert access.allows_any(AclOperation.READ, ResourceType.TOPIC)
