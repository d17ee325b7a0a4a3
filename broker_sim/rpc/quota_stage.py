"""The quotas' stage: counts each response, and makes a client wait that is over its quota. Mirrors
KafkaApis.sendResponseMaybeThrottle with ClientRequestQuotaManager.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import NoResponse
from broker_sim.rpc.stage import Stage
from protocol_specs.framing import decode_response
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall, IReactorTime

    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.quotas.quota_managers import QuotaManagers
    from broker_sim.rpc.stage import ResponseHook

__all__ = ["DelayingQuotaStage", "QuotaStage"]

SIZE_BYTES = 4


class QuotaStage(Stage):
    """Active while any client has a quota. Requests between nodes of the cluster have none."""

    def __init__(self, quotas: QuotaManagers) -> None:
        self._quotas = quotas

    @property
    def on_response(self) -> ResponseHook | None:
        """Throttle."""
        return self._throttle if self._quotas.active else None

    def _throttle(
        self, context: RequestContext, result: Response | NoResponse
    ) -> Response | NoResponse | Deferred[Response | NoResponse]:
        """Count the request; over a quota, make the client wait and report the time in the response."""
        if context.replica_id >= 0:
            return result
        if result is NoResponse.NO_OP:
            throttle_ms = self._quotas.throttle_ms_without_response(context)
        elif isinstance(result, NoResponse):
            throttle_ms = 0
        else:
            throttle_ms = self._quotas.throttle_ms(context, result)
        if throttle_ms <= 0:
            return result
        self._quotas.note(context, throttle_ms)
        if not isinstance(result, NoResponse):
            result = _with_throttle_time(context, result, throttle_ms)
        return self._throttled(context, result, throttle_ms)

    def _throttled(
        self, context: RequestContext, result: Response | NoResponse, throttle_ms: int
    ) -> Response | NoResponse | Deferred[Response | NoResponse]:
        context.transport.throttle(context, throttle_ms)
        return result

    def stop(self) -> None:
        """End with the node."""


class DelayingQuotaStage(QuotaStage):
    """The stage before 2.0: the response itself waits, and its connection with it (KIP-219)."""

    def __init__(self, quotas: QuotaManagers, reactor: IReactorTime) -> None:
        super().__init__(quotas)
        self._reactor = reactor
        self._delays: dict[IDelayedCall, None] = {}

    def _throttled(
        self, context: RequestContext, result: Response | NoResponse, throttle_ms: int
    ) -> Deferred[Response | NoResponse]:
        del context  # its connection is muted until the response is sent
        late: Deferred[Response | NoResponse] = Deferred()

        def end() -> None:
            del self._delays[delay]
            late.callback(result)

        delay = self._reactor.callLater(throttle_ms / 1000, end)
        self._delays[delay] = None
        return late

    def stop(self) -> None:
        """Send no response any more."""
        for delay in self._delays:
            delay.cancel()
        self._delays.clear()


def _with_throttle_time(context: RequestContext, response: Response, throttle_ms: int) -> Response:
    if isinstance(response, bytes):
        response = decode_response(response_type(context.api_key), context.api_version, response[SIZE_BYTES:])[1]
    if not hasattr(response, "throttle_time_ms"):
        return response
    throttled: Any = copy(response)
    throttled.throttle_time_ms = throttle_ms
    return throttled  # type: ignore[no-any-return]
