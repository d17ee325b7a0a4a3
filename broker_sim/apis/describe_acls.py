"""DescribeAcls (api key 29): the access control entries that a filter selects (KIP-140). Mirrors AclApis.

Versions: v1 has pattern types (KIP-290). v2 is flexible. v3 has users as resources (KIP-48).
Every node responds from its own image. Entries of one resource are listed together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.acl_requests import filter_of, refuse_filter
from broker_sim.apis.api_handler import ApiHandler
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_acls import AclDescription, DescribeAclsResource, DescribeAclsResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_acls import DescribeAclsRequest


def handle(request: DescribeAclsRequest, context: RequestContext) -> HandlerResult:
    """List the entries; SECURITY_DISABLED without an authorizer."""
    authorizer = context.broker.authorizer
    if authorizer is None:
        text = "No Authorizer is configured on the broker"
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=text)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in authorizer.index.matching(filter_of(request, context.behaviour)):
        key = (acl.resource_type, acl.resource_name, acl.pattern_type)
        if key not in resources:
            resources[key] = DescribeAclsResource(
                resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type, acls=[]
            )
        resources[key].acls.append(
            AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission_type
            )
        )
    response = DescribeAclsResponse(resources=list(resources.values()))
    if not context.behaviour.acl_messages_are_generated:
        response.error_message = None
    return response


HANDLER: Final = ApiHandler(handle=handle, refuse=refuse_filter)
