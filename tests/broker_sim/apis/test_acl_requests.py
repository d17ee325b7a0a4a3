"""Entries and filters of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.apis.acl_requests import acl_of, filter_of, is_binding
from broker_sim.apis.handler_result import NoResponse
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.security.acl import AclOperation, PatternType, ResourceType
from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
from protocol_specs.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

CREATION = AclCreation(resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3)
NEWEST = behaviour_of("4.3.1")


@pytest.mark.parametrize(("release", "known"), [("3.9.2", False), ("4.0.0", False), ("4.1.1", True)])
def test_two_phase_commits_are_an_operation_from_4_1_on(release: str, *, known: bool) -> None:
    code = AclOperation.TWO_PHASE_COMMIT
    expected = code if known else AclOperation.UNKNOWN
    creation = AclCreation(
        resource_type=5, resource_name="t", principal="User:a", host="*", operation=code, permission_type=3
    )
    assert acl_of(creation, behaviour_of(release)).operation is expected
    selecting = DeleteAclsFilter(resource_type_filter=5, operation=code, permission_type=1)
    assert filter_of(selecting, behaviour_of(release)).operation is expected


def test_codes_become_names_and_unknown_ones_unknown() -> None:
    acl = acl_of(CREATION, NEWEST)
    assert (acl.resource_type, acl.pattern_type, acl.operation) == (
        ResourceType.TOPIC,
        PatternType.LITERAL,
        AclOperation.READ,
    )
    unknown = DeleteAclsFilter(resource_type_filter=99, operation=1, permission_type=1)
    assert filter_of(unknown, NEWEST).resource_type is ResourceType.UNKNOWN


def test_an_entry_has_no_codes_of_filters() -> None:
    assert is_binding(acl_of(CREATION, NEWEST))
    assert not is_binding(acl_of(CREATION, NEWEST)._replace(operation=AclOperation.ANY))
    assert not is_binding(acl_of(CREATION, NEWEST)._replace(pattern_type=PatternType.MATCH))


@pytest.mark.parametrize(
    ("release", "creations", "filters"),
    [
        ("1.1.1", ["any"], []),
        ("2.4.1", ["any"], []),
        ("2.5.1", ["zero"], []),
        ("2.7.2", ["zero"], []),
        ("2.8.2", ["zero"], ["zero"]),
    ],
)
def test_codes_that_close_the_connection_are_those_of_the_release(
    bench: Callable[..., ApiBench], release: str, creations: list[str], filters: list[str]
) -> None:
    made = bench(release=release)
    for name, code in (("zero", 0), ("any", 1)):
        creation = CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=2, resource_name="t", principal="User:a", host="*", operation=code, permission_type=3
                )
            ]
        )
        closed = made.call(creation, 0) is NoResponse.CLOSE_CONNECTION
        assert closed is (name in creations), name
        selecting = DeleteAclsFilter(resource_type_filter=2, operation=code, permission_type=1)
        closed = made.call(DeleteAclsRequest(filters=[selecting]), 0) is NoResponse.CLOSE_CONNECTION
        assert closed is (name in filters), name


def test_before_2_0_the_type_of_a_filter_is_refused_alone(bench: Callable[..., ApiBench]) -> None:
    config = {
        "authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    any_type = AclCreation(
        resource_type=1, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
    )
    request = CreateAclsRequest(creations=[any_type, CREATION])
    made = bench(release="1.1.1", config=config)
    refused, created = made.exchange(request, 0).results
    assert (refused.error_code, refused.error_message[:37], created.error_code) == (
        42,
        "ANY not a valid resourceType name. Th",
        0,
    )
    assert bench(release="2.0.1", config=config).call(request, 0) is NoResponse.CLOSE_CONNECTION


@pytest.mark.parametrize(("release", "where"), [("2.8.2", " on the broker"), ("4.3.1", "")])
def test_without_an_authorizer_nothing_is_created_or_deleted(
    bench: Callable[..., ApiBench], release: str, where: str
) -> None:
    made = bench(release=release)
    created = made.exchange(CreateAclsRequest(creations=[CREATION]), 2).results
    only = DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)
    deleted = made.exchange(DeleteAclsRequest(filters=[only]), 2).filter_results
    for [result] in (created, deleted):
        assert (result.error_code, result.error_message) == (54, f"No Authorizer is configured{where}.")
