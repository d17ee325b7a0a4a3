"""DescribeCluster (api key 60) at a controller: the controllers that are registered (KIP-919). Mirrors
ControllerApis.handleDescribeCluster with AuthHelper.

Versions: v0 requests brokers, which no controller lists. v2 has fenced brokers, of which there are none here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import controller_view
from broker_sim.apis.metadata import cluster_operations
from broker_sim.config.broker_listeners import CONTROLLER_LISTENER
from broker_sim.metadata.metadata_record_versions import record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_cluster import DescribeClusterRequest

BROKER_ENDPOINT: Final = 1
CONTROLLER_ENDPOINT: Final = 2
NO_NODE: Final = -1


def handle(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    """Respond from this node's own view."""
    server = controller_view(context)
    image = server.image
    if not record_versions(image.finalized_features.get(METADATA_VERSION, 0)).has_controllers:
        message = "Direct-to-controller communication is not supported with the current MetadataVersion."
        return _refused(ErrorCode.UNSUPPORTED_VERSION, message)
    if request.endpoint_type not in (BROKER_ENDPOINT, CONTROLLER_ENDPOINT):
        message = f"Unsupported endpoint type {request.endpoint_type}"
        error_code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE if context.api_version else ErrorCode.INVALID_REQUEST
        return _refused(error_code, message)
    if request.endpoint_type != CONTROLLER_ENDPOINT:
        message = "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
        error_code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if context.api_version else ErrorCode.INVALID_REQUEST
        return _refused(error_code, message)
    nodes = [
        DescribeClusterBroker(broker_id=controller.id, host=endpoint.host, port=endpoint.port, rack=None)
        for controller in sorted(image.controllers.values(), key=lambda each: each.id)
        for endpoint in controller.listeners
        if endpoint.name == CONTROLLER_LISTENER
    ]
    leader_id = server.node.leader_id
    return DescribeClusterResponse(
        error_message=None,
        endpoint_type=CONTROLLER_ENDPOINT,
        cluster_id=image.cluster_id,
        controller_id=leader_id if any(node.broker_id == leader_id for node in nodes) else NO_NODE,
        brokers=nodes,
        cluster_authorized_operations=cluster_operations(requested=request.include_cluster_authorized_operations),
    )


def _refused(error_code: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error_code, error_message=message, endpoint_type=BROKER_ENDPOINT)


HANDLER: Final = ApiHandler(handle=handle)
