"""The registry of APIs and their dispatch. Mirrors KafkaApis and ApiVersionManager.

Each API file makes one `register(ApiHandler(...))` call when it is imported. `API_FILES` names the file of each API, so
that an API costs nothing before its first request; it is at the same time what ApiVersions answers, cut to the
release's table. Versions: all of the emulated release.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_sim.apis import handler_faults
from broker_sim.apis.client_metrics import ClientMetricsManager
from broker_sim.apis.fetch_sessions import FetchSessionCache
from broker_sim.apis.request_context import ANSWERS
from broker_sim.config.simulator_configs import TELEMETRY_RECEIVER
from broker_sim.metrics.request_metrics import RequestMetrics
from broker_sim.quotas.quota_managers import QuotaManagers
from protocol_specs import registry
from protocol_specs.api_key import ApiKey, Served
from protocol_specs.error_codes import ErrorCode
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import HandlerResult, NoAnswer, RequestContext
    from broker_sim.broker import Broker
    from protocol_specs.message import Message

__all__ = ["HANDLERS", "SERVED", "ApiHandler", "KafkaApis", "handler_of", "register"]

SERVED: Final = tuple(key for key in ApiKey if Served.BROKER in key.facts.served)
"""The APIs with a handler file at brokers, by ascending key."""
UNLISTED: Final = {key: range(1) for key in SERVED if key.facts.needs_telemetry_receiver}
"""What 4.x serves without listing it: telemetry is listed only where a receiver is configured (KIP-714)."""

_log = Logger()


def top_level_error(request: Any, context: RequestContext, error_code: ErrorCode) -> Message:  # noqa: ARG001
    """The error answer of an API whose response has one error code for everything."""
    response: Any = registry.response_type(context.api_key)()
    if hasattr(response, "error_code"):
        response.error_code = int(error_code)
    return response  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiHandler:
    """One API: its handler, and how a failure of the whole request is answered (AbstractRequest.getErrorResponse)."""

    api_key: ApiKey
    handle: Callable[[Any, RequestContext], HandlerResult]
    error_response: Callable[[Any, RequestContext, ErrorCode], Message | NoAnswer] = top_level_error


HANDLERS: Final[dict[ApiKey, ApiHandler]] = {}


def register(handler: ApiHandler) -> None:
    """Enter an API's handler; the last line of each API file."""
    HANDLERS[handler.api_key] = handler


def handler_of(api_key: ApiKey) -> ApiHandler:
    """The handler of a served API; its file is imported when it is first asked for."""
    handler = HANDLERS.get(api_key)
    if handler is None:
        import_module(f"broker_sim.apis.{api_key.module}")
        handler = HANDLERS[api_key]
    return handler


class KafkaApis:
    """One broker's dispatch: which APIs and versions it serves, and their handlers."""

    __slots__ = (
        "_broker",
        "advertised",
        "client_metrics",
        "enabled",
        "features",
        "fetch_sessions",
        "quotas",
        "request_metrics",
        "started_us",
    )

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        versions = broker.release.api_versions
        self.advertised: Mapping[ApiKey, VersionRange] = {key: versions[key] for key in SERVED if key in versions}
        """What ApiVersions lists, by ascending API key."""
        if broker.config[TELEMETRY_RECEIVER] and broker.config.behaviour.telemetry_served_unlisted:
            telemetry = {key: VersionRange(served[0], served[-1]) for key, served in UNLISTED.items()}
            self.advertised = dict(sorted({**self.advertised, **telemetry}.items()))
        self.features = broker.release.listeners["broker"].features
        behaviour = broker.config.behaviour
        lowest_produce = behaviour.produce_lowest_served
        self.enabled: Mapping[ApiKey, range] = {
            key: range(max(item.lowest, lowest_produce if key is ApiKey.PRODUCE else 0), item.highest + 1)
            for key, item in self.advertised.items()
        } | (UNLISTED if behaviour.telemetry_served_unlisted else {})
        """What a connection may send; 4.x lists more versions of Produce than it takes."""
        self.client_metrics = ClientMetricsManager(config=broker.config, random=broker.random("client metrics"))
        self.quotas = QuotaManagers(broker.config, broker.journal.now_us)
        self.started_us = broker.journal.now_us()
        self.request_metrics = RequestMetrics(broker.journal.now_us)
        self.fetch_sessions = FetchSessionCache(
            slots=broker.config.max_incremental_fetch_session_cache_slots,
            random=broker.random("fetch sessions"),
            shards=broker.config.behaviour.fetch_session_shards,
            zero_ids_fail=broker.config.behaviour.fetch_session_zero_ids_fail,
        )

    def handle(self, request: Any, context: RequestContext) -> HandlerResult:
        """Answer a request; an exception becomes the API's error answer, as in KafkaApis.handle."""
        try:
            handler = HANDLERS.get(context.api_key) or handler_of(context.api_key)
            if self._broker.faults.active and context.api_key != ApiKey.PRODUCE:
                result: HandlerResult = Deferred.fromCoroutine(handler_faults.handle(handler, request, context))
            else:
                result = handler.handle(request, context)
        except Exception:  # noqa: BLE001 - whatever a handler raises, the client gets an answer
            _log.failure("Unexpected error handling {context!r}", context=context)
            return self.error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
        # In this order: whether something is a Deferred is asked slowly, because the class is abstract.
        if not isinstance(result, ANSWERS) and isinstance(result, Deferred):
            result.addErrback(self._failed, request, context)
        return result

    def error_response(
        self,
        request: Any,
        context: RequestContext,
        error_code: ErrorCode,
    ) -> Message | NoAnswer:
        """The API's answer when the whole request fails with one error."""
        return handler_of(context.api_key).error_response(request, context, error_code)

    def _failed(self, failure: Failure, request: Any, context: RequestContext) -> Message | NoAnswer:
        _log.failure("Unexpected error handling {context!r}", failure=failure, context=context)
        return self.error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
