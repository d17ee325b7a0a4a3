"""Checks the entries of CreateAcls and the filters of DeleteAcls in ZooKeeper mode.

Mirrors KafkaApis with AclAuthorizer, or with SimpleAclAuthorizer, whose refusals have texts of their own; from 2.4 on
AuthorizerWrapper keeps these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.config.api_error import ApiError
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, AclPermissionType, PatternType, ResourceType
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.security.acl import Acl, AclFilter

__all__ = ["creation_refusal", "filter_refusals", "has_type", "principal_text"]

_TYPE_NAMES: Final = "Topic,Group,Cluster,TransactionalId,DelegationToken"
_OPERATION_NAMES: Final = (
    "Read,Write,Create,Delete,Alter,Describe,ClusterAction,AlterConfigs,DescribeConfigs,IdempotentWrite,All"
)
_FAILED: Final = ApiError(ErrorCode.INVALID_REQUEST, "Failed to create ACL")
_EXACT_PERMISSIONS: Final = frozenset({AclPermissionType.ALLOW, AclPermissionType.DENY})


def creation_refusal(acl: Acl, behaviour: ReleaseBehaviour, *, simple: bool) -> ApiError | None:
    """Return why an entry cannot be created, None if it can; `simple` is for SimpleAclAuthorizer.

    AclAuthorizer does not refuse a principal without a type: it fails to write it.
    """
    highest_type, highest_operation = behaviour.highest_acl_codes
    has_type_code = ResourceType.ANY < acl.resource_type <= highest_type
    has_operation = 0 < acl.operation <= highest_operation
    own = _simple_refusal(acl, has_type_code=has_type_code, has_operation=has_operation) if simple else None
    if own is not None:
        return ApiError(ErrorCode.INVALID_REQUEST, own)
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        text = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    if not acl.resource_name:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
    if not (has_type_code and has_operation and acl.pattern_type and acl.permission_type):
        return _FAILED
    if behaviour.acl_names_have_no_slash and "/" in acl.resource_name:
        return _FAILED
    return None


def _simple_refusal(acl: Acl, *, has_type_code: bool, has_operation: bool) -> str | None:
    if not has_type_code:
        name = "ANY" if acl.resource_type is ResourceType.ANY else "UNKNOWN"
        return f"{name} not a valid resourceType name. The valid names are {_TYPE_NAMES}"
    if not has_type(acl.principal):
        return principal_text(acl.principal)
    if not has_operation:
        return f"UNKNOWN not a valid operation name. The valid names are {_OPERATION_NAMES}"
    if not acl.permission_type:
        return "UNKNOWN not a valid permissionType name. The valid names are Allow,Deny"
    return None if acl.pattern_type else "patternType must not be UNKNOWN"


def filter_refusals(filters: Sequence[AclFilter], *, simple: bool) -> list[ApiError | None]:
    """Return why filters cannot be used, None for each that can.

    SimpleAclAuthorizer makes entries of filters if all of them can select one entry at most.
    """
    if not simple or not all(map(_is_exact, filters)):
        return [None for _ in filters]
    return [
        None
        if each.principal is None or has_type(each.principal)
        else ApiError(ErrorCode.INVALID_REQUEST, principal_text(each.principal))
        for each in filters
    ]


def has_type(principal: str) -> bool:
    """Return True if a principal has a type, as `User:ann` has."""
    return ":" in principal


def principal_text(principal: str) -> str:
    """Return the text about a principal without a type. Mirrors SecurityUtils.parseKafkaPrincipal."""
    return f"expected a string in format principalType:principalName but got {principal}"


def _is_exact(acl_filter: AclFilter) -> bool:
    """Mirrors AclBindingFilter.matchesAtMostOne."""
    return (
        acl_filter.resource_type > ResourceType.ANY
        and acl_filter.pattern_type in {PatternType.LITERAL, PatternType.PREFIXED}
        and None not in {acl_filter.resource_name, acl_filter.principal, acl_filter.host}
        and acl_filter.operation > AclOperation.ANY
        and acl_filter.permission_type in _EXACT_PERMISSIONS
    )
