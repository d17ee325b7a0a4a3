"""The entries of an image, by resource."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from broker_sim.security.acl import Acl, AclFilter, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.security.acl_index import AclIndex

names = st.sampled_from(["a", "ab", "abc", "b", "*", "é", "\U0001f600"])
entries = st.builds(
    Acl,
    resource_type=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    resource_name=names,
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from(["User:a", "User:*"]),
    host=st.just("*"),
    operation=st.sampled_from([AclOperation.READ, AclOperation.ALL]),
    permission_type=st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY]),
)


@given(acls=st.lists(entries, max_size=12, unique=True), name=names)
def test_a_resource_has_the_entries_that_a_matching_filter_selects(acls: list[Acl], name: str) -> None:
    index = AclIndex(acls)
    matching = AclFilter(
        ResourceType.TOPIC, name, PatternType.MATCH, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    found = list(index.of_resource(ResourceType.TOPIC, name))
    assert sorted(found) == sorted(index.matching(matching))
    assert len(found) == len({*found})


def test_resource_names_descend_as_in_kafkas_cache() -> None:
    acls = [
        Acl(ResourceType.TOPIC, name, PatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
        for name in ("a", "b", "\uffff", "\U0001f600")
    ]
    everything = AclFilter(ResourceType.ANY, None, PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)
    found = [acl.resource_name for acl in AclIndex(acls).matching(everything)]
    assert found == ["\uffff", "\U0001f600", "b", "a"]  # by UTF-16 code units
