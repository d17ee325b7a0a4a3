"""What a controller serves at its own listener, and the dispatch. Mirrors ControllerApis with its ApiVersionManager.

What tools and clients ask is answered by the same files as at a broker, which pass it on; here that takes no way. What
differs, and what only brokers and voters ask, has its own files beside this one. The list of both is at the same time
what ApiVersions answers, cut to the table of the release's controllers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_sim.apis import handler_faults
from broker_sim.apis.kafka_apis import ApiHandler
from broker_sim.apis.kafka_apis import handler_of as handler_of_broker
from broker_sim.controller.server.controller_node_view import NotActive
from broker_sim.controller.server.not_active import with_words
from broker_sim.metrics.request_metrics import RequestMetrics
from broker_sim.quotas.quota_managers import QuotaManagers
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import HandlerResult, NoAnswer, RequestContext
    from broker_sim.controller.server.controller_server import ControllerServer
    from protocol_specs.api_key import ApiKey
    from protocol_specs.message import Message
    from protocol_specs.version_range import VersionRange

__all__ = ["CONTROLLER_API_FILES", "ControllerApis", "controller_handler"]

AS_AT_BROKERS: Final = (18, 19, 32, 37, 43, 45, 49, 57, 64, 80, 81)
"""What a broker passes on without a word of its own."""
OWN_FILES: Final[Mapping[int, str]] = {
    1: "metadata_log_fetches",
    7: "unserved",
    20: "reads",
    33: "configs",
    44: "configs",
    46: "reads",
    52: "votes",
    53: "votes",
    54: "votes",
    55: "reads",
    56: "broker_requests",
    58: "envelopes",
    59: "metadata_log_fetches",
    60: "describe_cluster",
    62: "broker_requests",
    63: "broker_requests",
    67: "broker_requests",
    70: "broker_requests",
    73: "broker_requests",
    82: "votes",
}
CONTROLLER_API_FILES: Final[Mapping[int, str]] = {**dict.fromkeys(AS_AT_BROKERS, ""), **OWN_FILES}
"""API key -> the file here that answers it, empty for one of broker_sim.apis."""

_log = Logger()
_handlers: Final[dict[int, ApiHandler]] = {}


def controller_handler(api_key: ApiKey) -> ApiHandler:
    """The handler of a served API; its file is imported when it is first asked for."""
    handler = _handlers.get(api_key)
    if handler is None:
        name = CONTROLLER_API_FILES[api_key]
        if name:
            module = import_module(f"broker_sim.controller.server.{name}")
            handler = next(each for each in module.HANDLERS if each.api_key == api_key)
        else:
            handler = handler_of_broker(api_key)
        _handlers[api_key] = handler
    return handler


class ControllerApis:
    """One controller's dispatch: which APIs and versions it serves, and their handlers."""

    __slots__ = ("_server", "advertised", "enabled", "features", "quotas", "request_metrics", "started_us")

    def __init__(self, server: ControllerServer) -> None:
        self._server = server
        table = server.release.listeners["controller"]
        self.advertised: Mapping[int, VersionRange] = {
            key: versions for key, versions in table.api_versions.items() if key in CONTROLLER_API_FILES
        }
        """What ApiVersions lists, in the order sent."""
        self.features = table.features
        self.enabled: Mapping[int, range] = {
            key: range(versions.lowest, versions.highest + 1) for key, versions in self.advertised.items()
        }
        """What a connection may send."""
        self.quotas = QuotaManagers(server.config, server.journal.now_us)
        self.started_us = server.journal.now_us()
        self.request_metrics = RequestMetrics(server.journal.now_us)

    def handle(self, request: Any, context: RequestContext) -> HandlerResult:
        """Answer a request; an exception becomes the API's error answer, as in ControllerApis.handle."""
        try:
            handler = controller_handler(context.api_key)
            if self._server.faults.active:
                result: HandlerResult = Deferred.fromCoroutine(handler_faults.handle(handler, request, context))
            else:
                result = handler.handle(request, context)
        except NotActive:
            return self._not_active(request, context)
        except Exception:  # noqa: BLE001 - whatever a handler raises, the client gets an answer
            _log.failure("Unexpected error handling {context!r}", context=context)
            return self.error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if isinstance(result, Deferred):
            result.addErrback(self._failed, request, context)
        return result

    def error_response(self, request: Any, context: RequestContext, error_code: ErrorCode) -> Message | NoAnswer:
        """The API's answer when the whole request fails with one error."""
        return controller_handler(context.api_key).error_response(request, context, error_code)

    def _not_active(self, request: Any, context: RequestContext) -> Message | NoAnswer:
        response = self.error_response(request, context, ErrorCode.NOT_CONTROLLER)
        answer: Message | NoAnswer = with_words(
            response,
            context.api_key,
            self._server.node.leader_id,
            unregistration_explains=self._server.config.behaviour.unregistration_explains,
        )
        return answer

    def _failed(self, failure: Failure, request: Any, context: RequestContext) -> Message | NoAnswer:
        if failure.check(NotActive):
            return self._not_active(request, context)
        _log.failure("Unexpected error handling {context!r}", failure=failure, context=context)
        return self.error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
