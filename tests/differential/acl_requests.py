"""Requests about access control entries, and the rights of a case's client, which is User:ANONYMOUS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.security.acl import CLUSTER_NAME, Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
from protocol_specs.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol_specs.messages.describe_acls import DescribeAclsRequest
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from tests.differential.probe import Probe

AUTHORIZER: Final = (
    ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ("allow.everyone.if.no.acl.found", "true"),
)
"""Resources without entries are open to all, so that the brokers may register."""
ANONYMOUS: Final = "User:ANONYMOUS"
OTHER: Final = "User:other"
VERSION: Final = 3

O = AclOperation  # noqa: E741 - the rights of a case are lists of them
T = ResourceType
P = PatternType
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def acl(
    resource_type: int,
    name: str,
    operation: int,
    *,
    pattern: int = P.LITERAL,
    principal: str = ANONYMOUS,
    host: str = "*",
    permission: int = ALLOW,
) -> AclCreation:
    """One entry to create."""
    return AclCreation(
        resource_type=int(resource_type),
        resource_name=name,
        resource_pattern_type=int(pattern),
        principal=principal,
        host=host,
        operation=int(operation),
        permission_type=int(permission),
    )


def creating(*creations: AclCreation) -> CreateAclsRequest:
    """A CreateAcls."""
    return CreateAclsRequest(creations=list(creations))


def acl_filter(
    resource_type: int = T.ANY,
    name: str | None = None,
    *,
    pattern: int = P.ANY,
    principal: str | None = None,
    host: str | None = None,
    operation: int = O.ANY,
    permission: int = AclPermissionType.ANY,
) -> DeleteAclsFilter:
    """One filter; without arguments it selects everything."""
    return DeleteAclsFilter(
        resource_type_filter=int(resource_type),
        resource_name_filter=name,
        pattern_type_filter=int(pattern),
        principal_filter=principal,
        host_filter=host,
        operation=int(operation),
        permission_type=int(permission),
    )


def deleting(*filters: DeleteAclsFilter) -> DeleteAclsRequest:
    """A DeleteAcls."""
    return DeleteAclsRequest(filters=list(filters))


def describing(each: DeleteAclsFilter) -> DescribeAclsRequest:
    """A DescribeAcls with a filter."""
    return DescribeAclsRequest(
        resource_type_filter=each.resource_type_filter,
        resource_name_filter=each.resource_name_filter,
        pattern_type_filter=each.pattern_type_filter,
        principal_filter=each.principal_filter,
        host_filter=each.host_filter,
        operation=each.operation,
        permission_type=each.permission_type,
    )


def in_order(response: dict[str, Any]) -> dict[str, Any]:
    """Sort what Kafka keeps in hash tables: resources, and the deleted entries of a filter."""
    for resource in response.get("resources", ()):
        resource["acls"].sort(key=str)
    response.get("resources", []).sort(key=str)
    for result in response.get("filterResults", ()):
        result["matchingAcls"].sort(key=str)
    return response


def give(probe: Probe, *creations: AclCreation) -> None:
    """Create entries, and wait until brokers and controllers decide by them."""
    created: Any = probe.quiet(creating(*creations), VERSION)
    assert all(each.error_code == 0 for each in created.results), created
    await_acls(probe, *creations)


def await_acls(probe: Probe, *creations: AclCreation) -> None:
    """Wait until the broker and its controller have these entries, or do not show entries any more."""
    wanted = {_key(each) for each in creations}
    for listener in (None, "CONTROLLER"):
        connection = probe.connect(listener=listener)
        for _ in attempts(f"the entries at {listener or 'the broker'}"):
            found: Any = probe.quiet(describing(acl_filter()), VERSION, on=connection)
            if found.error_code or wanted <= {
                (each.resource_type, each.resource_name, each.pattern_type, *_entry(entry))
                for each in found.resources
                for entry in each.acls
            }:
                break


def _entry(entry: Any) -> tuple[Any, ...]:
    return entry.principal, entry.host, entry.operation, entry.permission_type


def _key(creation: AclCreation) -> tuple[Any, ...]:
    kind, name, pattern = creation.resource_type, creation.resource_name, creation.resource_pattern_type
    return kind, name, pattern, *_entry(creation)


def restrict(probe: Probe, resource_type: int, *names: str, allow: tuple[int, ...] = ()) -> None:
    """Leave the case's client these operations alone on resources: another principal's entry takes all others."""
    creations = [acl(resource_type, name, O.ALL, principal=OTHER) for name in names]
    creations += [acl(resource_type, name, operation) for name in names for operation in allow]
    give(probe, *creations)


def restrict_cluster(probe: Probe, *allow: int) -> None:
    """Leave the case's client these operations on the cluster, beside those that keep brokers and the case alive."""
    kept = (O.CLUSTER_ACTION, O.ALTER, O.DESCRIBE, *allow)
    give(probe, *(acl(T.CLUSTER, CLUSTER_NAME, operation) for operation in kept))


__all__ = [
    "ALLOW", "ANONYMOUS", "AUTHORIZER", "DENY", "OTHER", "Acl", "O", "P", "T", "acl", "acl_filter", "await_acls",
    "creating", "deleting", "describing", "give", "in_order", "restrict", "restrict_cluster",
]  # fmt: skip
