"""The common part of the ACL APIs: the entries and filters of requests, and those that no release reads.

A request with codes that Kafka's request classes refuse closes the connection. Mirrors the constructors of
CreateAclsRequest, DeleteAclsRequest and DescribeAclsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.security.acl import Acl, AclFilter, AclOperation, AclPermissionType, PatternType, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import NoResponse
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
    from protocol_specs.messages.delete_acls import DeleteAclsRequest
    from protocol_specs.messages.describe_acls import DescribeAclsRequest

__all__ = [
    "FilterFields",
    "acl_of",
    "filter_of",
    "is_binding",
    "no_authorizer",
    "refuse_creations",
    "refuse_deletions",
    "refuse_filter",
]


class FilterFields(Protocol):
    """The fields that DescribeAclsRequest and each filter of DeleteAclsRequest have."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def acl_of(creation: AclCreation, behaviour: ReleaseBehaviour) -> Acl:
    """Return the entry of a creation; codes that the release does not know become UNKNOWN."""
    return Acl(
        _known_type(creation.resource_type, behaviour),
        creation.resource_name,
        PatternType(creation.resource_pattern_type),
        creation.principal,
        creation.host,
        _known_operation(creation.operation, behaviour),
        AclPermissionType(creation.permission_type),
    )


def filter_of(fields: FilterFields, behaviour: ReleaseBehaviour) -> AclFilter:
    """Return the filter of a request; codes that the release does not know become UNKNOWN."""
    return AclFilter(
        _known_type(fields.resource_type_filter, behaviour),
        fields.resource_name_filter,
        PatternType(fields.pattern_type_filter),
        fields.principal_filter,
        fields.host_filter,
        _known_operation(fields.operation, behaviour),
        AclPermissionType(fields.permission_type),
    )


def _known_type(code: int, behaviour: ReleaseBehaviour) -> ResourceType:
    return ResourceType(code) if code <= behaviour.highest_acl_codes[0] else ResourceType.UNKNOWN


def _known_operation(code: int, behaviour: ReleaseBehaviour) -> AclOperation:
    return AclOperation(code) if code <= behaviour.highest_acl_codes[1] else AclOperation.UNKNOWN


def no_authorizer(context: RequestContext) -> str:
    """Return the text of a creation or deletion at a node without an authorizer."""
    on_broker = " on the broker" if context.behaviour.missing_authorizers_are_the_brokers else ""
    return f"No Authorizer is configured{on_broker}."


def refuse_creations(request: CreateAclsRequest, context: RequestContext) -> NoResponse | None:
    """Close the connection for codes of 0, which are UNKNOWN; None for a request that can be read.

    Before 2.5 codes of 0 are refused one by one, and those of filters close the connection: before 2.0 not the type.
    """
    creations = request.creations
    if not context.behaviour.acl_messages_are_generated:
        acls = [acl_of(each, context.behaviour) for each in creations]
        if context.behaviour.acl_types_are_refused:
            acls = [acl._replace(resource_type=ResourceType.UNKNOWN) for acl in acls]
        if all(map(is_binding, acls)):
            return None
        return context.disconnect("an AclBinding cannot have the codes of filters")
    for each in creations:
        if 0 in {each.resource_type, each.resource_pattern_type, each.operation, each.permission_type}:
            return context.disconnect("CreatableAcls contain unknown elements")
    return None


def is_binding(acl: Acl) -> bool:
    """Return True if Kafka can make an AclBinding of an entry: the codes of filters fail the whole request."""
    return not (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in {PatternType.ANY, PatternType.MATCH}
        or acl.operation is AclOperation.ANY
        or acl.permission_type is AclPermissionType.ANY
    )


def refuse_deletions(request: DeleteAclsRequest, context: RequestContext) -> NoResponse | None:
    """Close the connection for codes of 0 in a filter, which are UNKNOWN; None for a request that can be read."""
    return _refuse_filters(request.filters, context)


def refuse_filter(request: DescribeAclsRequest, context: RequestContext) -> NoResponse | None:
    """Close the connection for codes of 0, which are UNKNOWN; None for a request that can be read."""
    return _refuse_filters([request], context)


def _refuse_filters(filters: Sequence[FilterFields], context: RequestContext) -> NoResponse | None:
    if not context.behaviour.acl_filters_are_checked:
        return None
    for each in filters:
        if 0 in {each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type}:
            return context.disconnect(f"{context.api_key.api_name}Request contains UNKNOWN elements")
    return None
