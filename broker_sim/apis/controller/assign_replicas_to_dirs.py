"""AssignReplicasToDirs (api key 73): a broker reports where its replicas are (KIP-858). Mirrors
ReplicationControlManager.handleAssignReplicasToDirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest


def handle(request: AssignReplicasToDirsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    controller = active_controller(context)
    return cast("HandlerResult", controller.append_write_event(lambda: controller.directories.assign(request)))


HANDLER: Final = ApiHandler(handle=handle)
