"""The rules of the ACL APIs. A request that no release reads closes the connection before anything is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.acl_requests import refuse_creations, refuse_filters
from broker_sim.apis.authorization.rule import cluster
from broker_sim.security.acl import AclOperation

if TYPE_CHECKING:
    from broker_sim.apis.authorization.rule import Handle
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.create_acls import CreateAclsRequest
    from protocol_specs.messages.delete_acls import DeleteAclsRequest

_DESCRIBE: Final = cluster(AclOperation.DESCRIBE, explains=True)
_ALTER: Final = cluster(AclOperation.ALTER, explains=True)


def describe_acls(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """DescribeAcls: DESCRIBE on the cluster."""
    return refuse_filters([request], context) or _DESCRIBE(request, context, access, handle)


def create_acls(request: CreateAclsRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """CreateAcls: ALTER on the cluster."""
    return refuse_creations(request.creations, context) or _ALTER(request, context, access, handle)


def delete_acls(request: DeleteAclsRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """DeleteAcls: ALTER on the cluster."""
    return refuse_filters(request.filters, context) or _ALTER(request, context, access, handle)
