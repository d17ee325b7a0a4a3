"""DescribeAcls (api key 29): list the access control entries that match a filter.

Mirrors DescribeAclsRequest and DescribeAclsResponse; KIP-140, KIP-290.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.DESCRIBE_ACLS, versions="0-3", flexible="2+")
class DescribeAclsRequest(Message):
    """The request: list the access control entries that match a filter."""

    resource_type_filter: int = field(Int8)
    resource_name_filter: str | None = field(String, nullable="0+")
    pattern_type_filter: int = field(Int8, versions="1+", default=3)
    principal_filter: str | None = field(String, nullable="0+")
    host_filter: str | None = field(String, nullable="0+")
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@struct
class AclDescription(Struct):
    """One access control entry: principal, host, operation and permission."""

    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@struct
class DescribeAclsResource(Struct):
    """A resource pattern with its access control entries."""

    resource_type: int = field(Int8)
    resource_name: str = field(String)
    pattern_type: int = field(Int8, versions="1+", default=3)
    acls: list[AclDescription] = field(Array(AclDescription))


@message(api_key=ApiKey.DESCRIBE_ACLS, versions="0-3", flexible="2+")
class DescribeAclsResponse(Message):
    """The response: the matching access control entries, by resource."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    resources: list[DescribeAclsResource] = field(Array(DescribeAclsResource))
