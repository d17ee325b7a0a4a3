"""CreateAcls (api key 30): create access control entries.

Mirrors CreateAclsRequest and CreateAclsResponse; KIP-140, KIP-290.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AclCreation(Struct):
    """One access control entry to create."""

    resource_type: int = field(Int8)
    resource_name: str = field(String)
    resource_pattern_type: int = field(Int8, versions="1+", default=3)
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@message(api_key=ApiKey.CREATE_ACLS, versions="0-3", flexible="2+")
class CreateAclsRequest(Message):
    """The request: create access control entries."""

    creations: list[AclCreation] = field(Array(AclCreation))


@struct
class AclCreationResult(Struct):
    """The result of one entry."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")


@message(api_key=ApiKey.CREATE_ACLS, versions="0-3", flexible="2+")
class CreateAclsResponse(Message):
    """The response: one result per access control entry, in the order of the request."""

    throttle_time_ms: int = field(Int32)
    results: list[AclCreationResult] = field(Array(AclCreationResult))
