"""DeleteAcls (api key 31): delete the access control entries that match filters.

Mirrors DeleteAclsRequest and DeleteAclsResponse; KIP-140, KIP-290.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DeleteAclsFilter(Struct):
    """A filter; every entry that matches it is deleted."""

    resource_type_filter: int = field(Int8)
    resource_name_filter: str | None = field(String, nullable="0+")
    pattern_type_filter: int = field(Int8, versions="1+", default=3)
    principal_filter: str | None = field(String, nullable="0+")
    host_filter: str | None = field(String, nullable="0+")
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@message(api_key=ApiKey.DELETE_ACLS, versions="0-3", flexible="2+")
class DeleteAclsRequest(Message):
    """The request: delete the access control entries that match filters."""

    filters: list[DeleteAclsFilter] = field(Array(DeleteAclsFilter))


@struct
class DeleteAclsMatchingAcl(Struct):
    """One deleted entry, or the error of its deletion."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    pattern_type: int = field(Int8, versions="1+", default=3)
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@struct
class DeleteAclsFilterResult(Struct):
    """The result of one filter."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = field(Array(DeleteAclsMatchingAcl))


@message(api_key=ApiKey.DELETE_ACLS, versions="0-3", flexible="2+")
class DeleteAclsResponse(Message):
    """The response: the deleted access control entries, per filter."""

    throttle_time_ms: int = field(Int32)
    filter_results: list[DeleteAclsFilterResult] = field(Array(DeleteAclsFilterResult))
