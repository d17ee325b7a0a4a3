"""The APIs of one controller: the table of its handlers. Mirrors ControllerApis with its ApiVersionManager.

An API that `protocol_specs.api_key` marks as served by controllers is in the file of its name in this folder, or is
served as at brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import HandlerTable
from broker_sim.apis.node_apis import NodeApis
from broker_sim.controller.errors import NotActive
from broker_sim.controller.not_controller import with_error_text, wrong_controller
from protocol_specs.api_key import ApiKey, Served
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from broker_sim.apis.authorization.rule import AuthorizedHandlers
    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.handler_result import NoResponse
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.authorizer import Authorizer
    from protocol_specs.message import Message

__all__ = ["HANDLERS", "ControllerApis"]

HANDLERS: Final = HandlerTable("broker_sim.apis.controller", "broker_sim.apis", served=Served.CONTROLLER)


def _authorized(authorizer: Authorizer) -> AuthorizedHandlers:
    """Return the handlers of a controller with an authorizer; the rules are imported with the first."""
    from broker_sim.apis.authorization.controller_rules import CONTROLLER_RULES
    from broker_sim.apis.authorization.rule import AuthorizedHandlers

    return AuthorizedHandlers(HANDLERS, CONTROLLER_RULES, authorizer)


class ControllerApis(NodeApis):
    """One controller's APIs."""

    def __init__(self, view: ControllerView) -> None:
        table = view.release.listeners["controller"]
        super().__init__(
            handlers=HANDLERS if view.authorizer is None else _authorized(view.authorizer),
            advertised={key: table.api_versions[key] for key in table.api_versions if key in HANDLERS.served},
            features=table.features,
        )
        self._view = view

    def failure_response(self, context: RequestContext, failure: Failure) -> Message | NoResponse:
        """Return NOT_CONTROLLER if another controller is active, else the error of brokers."""
        if failure.check(NotActive) is None:
            return super().failure_response(context, failure)
        response = self.error_response(context, ErrorCode.NOT_CONTROLLER)
        return with_error_text(response, self._not_controller_text(context.api_key))  # type: ignore[no-any-return]

    def _not_controller_text(self, api_key: ApiKey) -> str:
        """The active controller; UnregisterBroker has no text where older releases give none."""
        if api_key is ApiKey.UNREGISTER_BROKER and not self._view.config.behaviour.unregistration_explains:
            return ""
        return wrong_controller(self._view.node.leader_id)
