"""DescribeCluster (api key 60): brokers, controller, cluster id (KIP-700).

Versions: v1 selects brokers or controllers (KIP-919); a broker's listener only knows brokers. v2 can list fenced
brokers (KIP-1073). Mirrors AuthHelper.computeDescribeClusterResponse and KafkaApis.handleDescribeCluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.metadata import cluster_operations, controller_id
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_cluster import DescribeClusterRequest

BROKER_ENDPOINT: Final = 1
CONTROLLER_ENDPOINT: Final = 2
NO_CONTROLLER: Final = -1


def handle(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    """Describe this broker's own view."""
    if request.endpoint_type == CONTROLLER_ENDPOINT:
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, message)
    if request.endpoint_type != BROKER_ENDPOINT:
        message = f"Unsupported endpoint type {request.endpoint_type}"
        return _refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, message)
    image = context.broker.metadata_cache.image
    nodes = [
        node
        for node in sorted(image.nodes(context.listener_name).values(), key=lambda node: node.id)
        if request.include_fenced_brokers or not node.fenced
    ]
    controller = controller_id(context)
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=BROKER_ENDPOINT,
        cluster_id=image.cluster_id,
        # A client of a listener that the broker does not have could not reach it.
        controller_id=controller if any(node.id == controller for node in nodes) else NO_CONTROLLER,
        brokers=[
            DescribeClusterBroker(
                broker_id=node.id, host=node.host, port=node.port, rack=node.rack, is_fenced=node.fenced
            )
            for node in nodes
        ],
        cluster_authorized_operations=cluster_operations(requested=request.include_cluster_authorized_operations),
    )


def _refused(error_code: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error_code, error_message=message, endpoint_type=BROKER_ENDPOINT)


HANDLER: Final = ApiHandler(handle=handle)
