"""The entries and filters that a broker of each kind refuses, as brokers of 2.3.1 and 2.7.2 do."""

from __future__ import annotations

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.security.acl import Acl, AclFilter, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.zookeeper.acl_refusals import creation_refusal, filter_refusals

ENTRY = Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
FAILED = "Failed to create ACL"
TYPES = "Topic,Group,Cluster,TransactionalId,DelegationToken"


@pytest.mark.parametrize(
    ("fields", "text", "simple_text"),
    [
        ({}, None, None),
        ({"resource_type": ResourceType.CLUSTER}, "only valid name for the CLUSTER resource is kafka-cluster", None),
        ({"resource_name": ""}, "Invalid empty resource name", None),
        ({"principal": "Group:a:b"}, None, None),
        ({"principal": "bob"}, None, "expected a string in format principalType:principalName but got bob"),
        ({"resource_type": ResourceType.UNKNOWN}, FAILED, f"valid resourceType name. The valid names are {TYPES}"),
        ({"resource_type": ResourceType.USER}, FAILED, "UNKNOWN not a valid resourceType name"),
        ({"operation": AclOperation.UNKNOWN}, FAILED, "UNKNOWN not a valid operation name. The valid names are Read,"),
        ({"operation": AclOperation.CREATE_TOKENS}, FAILED, "UNKNOWN not a valid operation name"),
        ({"permission_type": AclPermissionType.UNKNOWN}, FAILED, "not a valid permissionType name"),
        ({"pattern_type": PatternType.UNKNOWN}, FAILED, "patternType must not be UNKNOWN"),
    ],
)
def test_refusals_have_the_texts_of_the_authorizer(
    fields: dict[str, object], text: str | None, simple_text: str | None
) -> None:
    acl = ENTRY._replace(**fields)  # type: ignore[arg-type]
    for release, simple, expected in (("2.7", False, text), ("2.3", True, simple_text or text)):
        refusal = creation_refusal(acl, behaviour_of(release), simple=simple)
        if expected is None or (not simple and text is None):
            assert refusal is None
        else:
            assert refusal is not None
            assert refusal.message is not None
            assert expected in refusal.message


def test_users_are_resources_and_names_have_no_slash_from_3_3_on() -> None:
    user, slash = ENTRY._replace(resource_type=ResourceType.USER), ENTRY._replace(resource_name="a/b")
    refused = {
        release: [creation_refusal(each, behaviour_of(release), simple=False) is not None for each in (user, slash)]
        for release in ("3.2", "3.3")
    }
    assert refused == {"3.2": [True, False], "3.3": [False, True]}


def exact(principal: str | None) -> AclFilter:
    return AclFilter(
        ResourceType.TOPIC, "t", PatternType.LITERAL, principal, "*", AclOperation.READ, AclPermissionType.ALLOW
    )


def test_simple_acl_authorizer_makes_entries_of_exact_filters() -> None:
    both = [exact("bob"), exact("User:a")]
    [refusal, none] = filter_refusals(both, simple=True)
    assert refusal is not None
    assert refusal.message == "expected a string in format principalType:principalName but got bob"
    assert none is None
    assert filter_refusals(both, simple=False) == [None, None]
    assert filter_refusals([*both, exact(None)], simple=True) == [None, None, None]
