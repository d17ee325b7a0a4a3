"""A handler's access to the active controller. Mirrors ControllerApis, which appends events to QuorumController."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from broker_sim.controller.errors import NotActive

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.controller import Controller
    from broker_sim.controller.controls import ControllerControls
    from broker_sim.quotas.controller_mutation_quotas import MutationQuota

__all__ = ["active_controller", "controller_view", "decide", "decide_with_quota"]

T = TypeVar("T")


def controller_view(context: RequestContext) -> ControllerView:
    """Return the controller that serves a request."""
    return cast("ControllerView", context.broker)


def active_controller(context: RequestContext) -> Controller:
    """Return the state machine of the controller that serves a request.

    Raises:
        NotActive: Another controller decides.
    """
    node = controller_view(context).node
    if not node.is_active:
        raise NotActive
    return node.controller


def decide(context: RequestContext, operation: Callable[[ControllerControls], T]) -> HandlerResult:
    """Run an operation of the managers, and respond with its result when that is committed.

    Raises:
        NotActive: Another controller decides.
    """
    controller = active_controller(context)
    return cast("HandlerResult", controller.append_write_event(lambda: operation(controller.controls)))


def decide_with_quota(
    context: RequestContext, operation: Callable[[ControllerControls, MutationQuota | None], Any]
) -> HandlerResult:
    """As `decide`, under the client's controller mutation quota (KIP-599): the response has the time to wait.

    Raises:
        NotActive: Another controller decides.
    """
    controller = active_controller(context)
    quota = controller.mutation_quotas.quota_of(
        context.api_key, context.api_version, context.client_id, user=context.user
    )

    def run() -> Any:
        response = operation(controller.controls, quota)
        if quota is not None:
            response.throttle_time_ms = quota.throttle_ms
        return response

    return cast("HandlerResult", controller.append_write_event(run))
