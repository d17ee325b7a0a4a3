"""Decisions of the authorizer, against a model that walks over all entries."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from broker_sim.config.authorizer_settings import AuthorizerSettings
from broker_sim.errors import BrokerSimError
from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.security.authorizer import AclAuthorizer, Authorizer

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
TOPIC = ResourceType.TOPIC
NAMES = ["a", "ab", "abc", "b", "*"]
OPERATIONS = [
    AclOperation.ALL,
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.CREATE,
]
ALSO = {
    AclOperation.READ: {AclOperation.DESCRIBE},
    AclOperation.WRITE: {AclOperation.DESCRIBE},
    AclOperation.ALTER_CONFIGS: {AclOperation.DESCRIBE_CONFIGS},
}
entries = st.builds(
    Acl,
    resource_type=st.just(TOPIC),
    resource_name=st.sampled_from(NAMES),
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from(["User:a", "User:b", "User:*", "Group:a"]),
    host=st.sampled_from(["*", "10.0.0.1", "10.0.0.2"]),
    operation=st.sampled_from(OPERATIONS),
    permission_type=st.sampled_from([ALLOW, DENY]),
)


def authorizer_of(acls: list[Acl], *, allow: bool = False, super_users: frozenset[str] = frozenset()) -> Authorizer:
    by_id = {bytes([number]): acl for number, acl in enumerate(acls)}
    settings = AuthorizerSettings(super_users=super_users, allow_everyone_if_no_acl_found=allow)
    return Authorizer(settings, lambda: by_id)


def applies(acl: Acl, name: str) -> bool:
    if acl.pattern_type is PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in {name, "*"}


def model(acls: list[Acl], principal: str, host: str, operation: AclOperation, name: str, *, allow: bool) -> bool:
    here = [acl for acl in acls if applies(acl, name)]
    if not here:
        return allow
    mine = [acl for acl in here if acl.principal in {principal, "User:*"} and acl.host in {host, "*"}]
    if any(acl.permission_type is DENY and acl.operation in {operation, AclOperation.ALL} for acl in mine):
        return False
    granted = [{acl.operation} | ALSO.get(acl.operation, set()) for acl in mine if acl.permission_type is ALLOW]
    return any(operation in each or AclOperation.ALL in each for each in granted)


@given(
    acls=st.lists(entries, max_size=10),
    principal=st.sampled_from(["User:a", "User:c"]),
    operation=st.sampled_from(OPERATIONS[1:]),
    name=st.sampled_from(NAMES[:-1]),
    allow=st.booleans(),
)
def test_decisions_are_those_of_the_model(
    acls: list[Acl], principal: str, operation: AclOperation, name: str, *, allow: bool
) -> None:
    found = authorizer_of(acls, allow=allow).allows(principal, "10.0.0.1", operation, TOPIC, name)
    assert found is model(acls, principal, "10.0.0.1", operation, name, allow=allow)


@given(acls=st.lists(entries, max_size=10), operation=st.sampled_from(OPERATIONS))
def test_super_users_may_do_everything(acls: list[Acl], operation: AclOperation) -> None:
    authorizer = authorizer_of(acls, super_users=frozenset({"User:a"}))
    assert authorizer.allows("User:a", "10.0.0.1", operation, TOPIC, "a")


@given(acls=st.lists(entries, max_size=8))
def test_any_topic_means_that_there_is_a_name_which_is_allowed(acls: list[Acl]) -> None:
    """The names that can differ are those of the entries, each also with something behind it."""
    authorizer = authorizer_of(acls)
    candidates = ["hardcode", *(acl.resource_name + end for acl in acls for end in ("", "~"))]
    some = any(authorizer.allows("User:a", "10.0.0.1", AclOperation.WRITE, TOPIC, name) for name in candidates)
    if authorizer.allows_any("User:a", "10.0.0.1", AclOperation.WRITE, TOPIC):
        assert some or _only_by_kafkas_shortcut(acls)


def _only_by_kafkas_shortcut(acls: list[Acl]) -> bool:
    """Kafka compares patterns, not names: it does not see that several entries together deny all that one allows."""
    return any(acl.permission_type is DENY for acl in acls)


@pytest.mark.parametrize(
    ("acls", "allow", "allowed"),
    [
        ([("x", "User:b", ALLOW)], True, (True, True)),
        ([("*", "User:b", ALLOW)], True, (False, True)),
        ([("*", "User:a", DENY), ("x", "User:a", ALLOW)], True, (False, False)),
        ([("x", "User:a", DENY), ("x", "User:a", ALLOW)], False, (False, False)),
        ([("x", "User:a", ALLOW)], False, (True, True)),
    ],
)
def test_any_topic_in_zookeeper_mode_does_not_depend_on_other_principals(
    acls: list[tuple[str, str, AclPermissionType]], allow: bool, allowed: tuple[bool, bool]
) -> None:
    """With `allow.everyone.if.no.acl.found` AclAuthorizer reads the DENY entries of all topics alone."""
    entries = {
        number: Acl(TOPIC, name, PatternType.LITERAL, principal, "*", AclOperation.WRITE, permission)
        for number, (name, principal, permission) in enumerate(acls)
    }
    settings = AuthorizerSettings(super_users=frozenset({"User:s"}), allow_everyone_if_no_acl_found=allow)
    both = [kind(settings, lambda: entries) for kind in (Authorizer, AclAuthorizer)]
    assert tuple(each.allows_any("User:a", "h", AclOperation.WRITE, TOPIC) for each in both) == allowed
    assert all(each.allows_any("User:s", "h", AclOperation.WRITE, TOPIC) for each in both)


def test_a_new_image_has_new_entries() -> None:
    images = [{}, {b"1": Acl(TOPIC, "a", PatternType.LITERAL, "User:a", "*", AclOperation.READ, ALLOW)}]
    authorizer = Authorizer(AuthorizerSettings(), lambda: images[-1])
    assert authorizer.allows("User:a", "h", AclOperation.READ, TOPIC, "a")
    images.append({})
    assert not authorizer.allows("User:a", "h", AclOperation.READ, TOPIC, "a")


def test_an_entry_whose_principal_has_no_type_fails_the_checks_that_read_it() -> None:
    authorizer = authorizer_of([Acl(TOPIC, "a", PatternType.LITERAL, "x", "*", AclOperation.READ, ALLOW)])
    assert not authorizer.allows("User:a", "h", AclOperation.READ, TOPIC, "b")
    with pytest.raises(BrokerSimError, match="principal 'x' of an ACL has no type"):
        authorizer.allows("User:a", "h", AclOperation.READ, TOPIC, "a")
