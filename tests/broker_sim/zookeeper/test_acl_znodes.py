"""The JSON of access control entries, as a broker of 2.7.2 has written it."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.zookeeper.acl_znodes import ResourcePattern, VersionedAcls, acl_znodes, pattern_of, read_acls
from broker_sim.zookeeper.znodes import Znode

WRITTEN_BY_2_7_2 = {
    "/kafka-acl/Topic/t": Znode(
        r'{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"Allow","operation":"Read","host":"*"},'
        r'{"principal":"User:a\"b","permissionType":"Deny","operation":"DescribeConfigs","host":"*"}]}',
        3,
    ),
    "/kafka-acl/TransactionalId/t": Znode(
        '{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"Allow","operation":"Write","host":"*"}]}'
    ),
    "/kafka-acl-extended/prefixed/Topic/p-": Znode(
        '{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"Allow","operation":"Read","host":"*"}]}'
    ),
}


def test_the_znodes_are_those_of_a_real_broker() -> None:
    acls = read_acls(WRITTEN_BY_2_7_2 | {"/kafka-acl-changes/acl_changes_0000000000": Znode("TOPIC:t")})
    assert acl_znodes(acls) == WRITTEN_BY_2_7_2
    topic = acls[ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)]
    assert [(acl.principal, acl.operation.name, acl.permission_type.name) for acl in topic.acls] == [
        ("User:ANONYMOUS", "READ", "ALLOW"),
        ('User:a"b', "DESCRIBE_CONFIGS", "DENY"),
    ]
    assert topic.version == 3


entries = st.builds(
    Acl,
    resource_type=st.sampled_from([each for each in ResourceType if each > ResourceType.ANY]),
    resource_name=st.text(min_size=1, max_size=8),
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.text(max_size=8).map("User:{}".format),
    host=st.sampled_from(["*", "10.0.0.1"]),
    operation=st.sampled_from([each for each in AclOperation if each > AclOperation.ANY]),
    permission_type=st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY]),
)


@given(st.lists(entries, max_size=6), st.integers(0, 9))
def test_entries_are_read_as_they_were_written(acls: list[Acl], version: int) -> None:
    stored = {
        pattern: VersionedAcls(tuple(acl for acl in acls if pattern_of(acl) == pattern), version)
        for pattern in map(pattern_of, acls)
    }
    assert read_acls(acl_znodes(stored)) == stored


def test_another_version_is_no_znode_of_entries() -> None:
    with pytest.raises(ValueError, match="version 2 of access control entries: expected 1"):
        read_acls({"/kafka-acl/Topic/t": Znode('{"version":2,"acls":[]}')})
