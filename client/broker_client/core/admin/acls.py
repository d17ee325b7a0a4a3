"""Access control entries: create, describe, delete. Mirrors KafkaAdminClient's calls; KIP-140. Any node serves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import ANY
from broker_client.errors import error_of
from protocol_specs.acl_codes import AclOperation, AclPermissionType, PatternType, ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_acls import AclCreation, CreateAclsRequest
from protocol_specs.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol_specs.messages.describe_acls import DescribeAclsRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.messages.describe_acls import DescribeAclsResponse

__all__ = [
    "AclBinding",
    "AclBindingFilter",
    "AclCalls",
    "AclOperation",
    "AclPermissionType",
    "PatternType",
    "ResourceType",
]


@dataclass(slots=True, kw_only=True, frozen=True)
class AclBinding:
    """One access control entry; `principal` is type and name, such as `User:ann`. Mirrors AclBinding."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType = PatternType.LITERAL
    principal: str
    host: str = "*"
    operation: AclOperation
    permission_type: AclPermissionType


@dataclass(slots=True, kw_only=True, frozen=True)
class AclBindingFilter:
    """Selects entries; without arguments, all. Mirrors AclBindingFilter."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY


class AclCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def create_acls(self, acls: Sequence[AclBinding]) -> None:
        """Create entries; one that exists stays. Raises ItemsFailed by entry."""

        def build(version: int, requested: list[AclBinding], timeout_ms: int) -> CreateAclsRequest:
            del version, timeout_ms
            return CreateAclsRequest(creations=[_creation(each) for each in requested])

        def take(response: Any, requested: list[AclBinding], outcomes: Outcomes[AclBinding, None]) -> None:
            for acl, result in zip(requested, response.results, strict=False):
                outcomes.take(acl, result.error_code, result.error_message or None, None)

        call = ItemCall(kind=CreateAclsRequest, route=ANY, build=build, take=take)
        await self._calls.settle(list(dict.fromkeys(acls)), call)

    async def describe_acls(self, only: AclBindingFilter | None = None) -> list[AclBinding]:
        """Entries, all of them or those of a filter."""
        wanted = _filter(only or AclBindingFilter())
        response: DescribeAclsResponse = await self._calls.request(
            DescribeAclsRequest,
            lambda *_: DescribeAclsRequest(
                resource_type_filter=wanted.resource_type_filter,
                resource_name_filter=wanted.resource_name_filter,
                pattern_type_filter=wanted.pattern_type_filter,
                principal_filter=wanted.principal_filter,
                host_filter=wanted.host_filter,
                operation=wanted.operation,
                permission_type=wanted.permission_type,
            ),
            route=ANY,
            error=lambda response: (response.error_code, response.error_message),
        )
        return [_binding(resource, acl) for resource in response.resources for acl in resource.acls]

    async def delete_acls(self, filters: Sequence[AclBindingFilter]) -> dict[AclBindingFilter, list[AclBinding]]:
        """Delete the entries that filters select, and return them by filter. Raises ItemsFailed by filter."""

        def build(version: int, requested: list[AclBindingFilter], timeout_ms: int) -> DeleteAclsRequest:
            del version, timeout_ms
            return DeleteAclsRequest(filters=[_filter(each) for each in requested])

        def take(
            response: Any, requested: list[AclBindingFilter], outcomes: Outcomes[AclBindingFilter, list[AclBinding]]
        ) -> None:
            for each, result in zip(requested, response.filter_results, strict=False):
                failed = next((acl for acl in result.matching_acls if acl.error_code), None)
                if failed is not None and not result.error_code:
                    outcomes.fail(each, error_of(ErrorCode(failed.error_code), failed.error_message or ""))
                deleted = [_binding(acl, acl) for acl in result.matching_acls]
                outcomes.take(each, result.error_code, result.error_message, deleted)

        call = ItemCall(kind=DeleteAclsRequest, route=ANY, build=build, take=take)
        return await self._calls.settle(list(dict.fromkeys(filters)), call)


def _creation(acl: AclBinding) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _filter(only: AclBindingFilter) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=only.resource_type,
        resource_name_filter=only.resource_name,
        pattern_type_filter=only.pattern_type,
        principal_filter=only.principal,
        host_filter=only.host,
        operation=only.operation,
        permission_type=only.permission_type,
    )


def _binding(resource: Any, acl: Any) -> AclBinding:
    return AclBinding(
        resource_type=ResourceType(resource.resource_type),
        resource_name=resource.resource_name,
        pattern_type=PatternType(resource.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=AclOperation(acl.operation),
        permission_type=AclPermissionType(acl.permission_type),
    )
