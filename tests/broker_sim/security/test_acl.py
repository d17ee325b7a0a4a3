"""Filters of access control entries."""

from __future__ import annotations

import pytest

from broker_sim.security.acl import Acl, AclFilter, AclOperation, AclPermissionType, PatternType, ResourceType

ENTRY = Acl(ResourceType.TOPIC, "ab", PatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
ALL = AclFilter(ResourceType.ANY, None, PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)


def test_the_empty_filter_selects_everything() -> None:
    assert ALL.matches(ENTRY)


@pytest.mark.parametrize(
    ("field", "same", "other"),
    [
        ("resource_type", ResourceType.TOPIC, ResourceType.GROUP),
        ("resource_name", "ab", "abc"),
        ("pattern_type", PatternType.LITERAL, PatternType.PREFIXED),
        ("principal", "User:a", "User:b"),
        ("host", "*", "10.0.0.1"),
        ("operation", AclOperation.READ, AclOperation.ALL),
        ("permission_type", AclPermissionType.ALLOW, AclPermissionType.DENY),
    ],
)
def test_each_field_selects(field: str, same: object, other: object) -> None:
    assert ALL._replace(**{field: same}).matches(ENTRY)
    assert not ALL._replace(**{field: other}).matches(ENTRY)


@pytest.mark.parametrize(
    ("name", "pattern", "selected"),
    [
        ("ab", PatternType.LITERAL, True),
        ("abc", PatternType.LITERAL, False),
        ("*", PatternType.LITERAL, True),
        ("a", PatternType.PREFIXED, True),
        ("ab", PatternType.PREFIXED, True),
        ("abc", PatternType.PREFIXED, False),
        ("*", PatternType.PREFIXED, False),
    ],
)
def test_match_selects_the_patterns_that_apply_to_a_name(name: str, pattern: PatternType, *, selected: bool) -> None:
    entry = ENTRY._replace(resource_name=name, pattern_type=pattern)
    assert ALL._replace(pattern_type=PatternType.MATCH, resource_name="ab").matches(entry) is selected


def test_a_code_that_no_release_has_is_unknown() -> None:
    assert AclOperation(99) is AclOperation.UNKNOWN
