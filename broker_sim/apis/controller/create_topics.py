"""CreateTopics (api key 19) at a controller. Mirrors ControllerApis.createTopics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide_with_quota
from broker_sim.apis.create_topics import error_response

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.create_topics import CreateTopicsRequest


def handle(request: CreateTopicsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide_with_quota(context, lambda controls, quota: controls.topics.create(request, quota))


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
