"""The APIs of one node: its handlers, and the versions that it lists and serves. Mirrors ApiVersionManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from broker_sim.apis.handler_result import RESULTS
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.api_handler import HandlerTable
    from broker_sim.apis.api_versions import TailKey
    from broker_sim.apis.authorization.rule import AuthorizedHandlers
    from broker_sim.apis.handler_result import HandlerResult, NoResponse
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.api_key import ApiKey
    from protocol_specs.message import Message
    from protocol_specs.releases import Features
    from protocol_specs.version_range import VersionRange

__all__ = ["NodeApis"]

_log = Logger()


class NodeApis:
    """`advertised` is what ApiVersions lists, in the order sent; `enabled` is what a connection may send."""

    def __init__(
        self,
        *,
        handlers: HandlerTable | AuthorizedHandlers,
        advertised: Mapping[ApiKey, VersionRange],
        enabled: Mapping[ApiKey, range] | None = None,
        features: Mapping[int, Features],
    ) -> None:
        self.handlers = handlers
        self.advertised = advertised
        self.enabled: Mapping[ApiKey, range] = (
            {key: range(versions.lowest, versions.highest + 1) for key, versions in advertised.items()}
            if enabled is None
            else enabled
        )
        self.features = features
        self.api_versions_tails: dict[TailKey, bytes] | None = None
        """The responses to ApiVersions that nodes with these versions and features have sent, without their heads."""

    def serve(self, context: RequestContext) -> HandlerResult:
        """Call the handler of a request; an exception becomes the API's error response."""
        handlers = self.handlers
        try:
            handler = handlers.loaded.get(context.api_key) or handlers.handler_of(context.api_key)
            refuse = handler.refuse
            result = (refuse and refuse(context.request, context)) or handler.handle(context.request, context)
        except Exception:  # noqa: BLE001 - for any exception of a handler the client gets a response
            return self.failure_response(context, Failure())
        # In this order: whether something is a Deferred is found out slowly, because the class is abstract.
        if not isinstance(result, RESULTS) and isinstance(result, Deferred):
            # Most operations of coordinators complete within the call: their result needs no callbacks.
            if result.called and not result.paused and isinstance(result.result, RESULTS):
                return result.result
            result.addErrback(self._failed, context)
        return result

    def refusal(self, context: RequestContext) -> NoResponse | None:
        """Return the result that closes the connection of a request that Kafka cannot read; None for any other."""
        refuse = self.handlers.handler_of(context.api_key).refuse
        return None if refuse is None else refuse(context.request, context)

    def _failed(self, failure: Failure, context: RequestContext) -> Message | NoResponse:
        return self.failure_response(context, failure)

    def error_response(self, context: RequestContext, error_code: ErrorCode) -> Message | NoResponse:
        """Return the API's response for a request that fails as a whole."""
        return self.handlers.handler_of(context.api_key).error_response(context.request, context, error_code)

    def failure_response(self, context: RequestContext, failure: Failure) -> Message | NoResponse:
        """Return the response for a handler that has raised: UNKNOWN_SERVER_ERROR, and the reason in the log."""
        _log.failure("Unexpected error handling {context!r}", failure=failure, context=context)
        return self.error_response(context, ErrorCode.UNKNOWN_SERVER_ERROR)
