"""UpdateFeatures (api key 57) at a controller (KIP-584, KIP-778). Mirrors ControllerApis.handleUpdateFeatures.

Versions: v1 has the upgrade type and validateOnly (v0's flag for downgrades has no effect). v2 (4.x) returns no results
by feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.update_features import UpdateFeaturesRequest


def handle(request: UpdateFeaturesRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.features.update(request))


HANDLER: Final = ApiHandler(handle=handle)
