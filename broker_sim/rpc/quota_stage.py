"""The quotas' stage: counts each response, and makes a client wait that is over its quota. Mirrors
KafkaApis.sendResponseMaybeThrottle with ClientRequestQuotaManager.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from broker_sim.apis.handler_result import NoResponse
from broker_sim.rpc.stage import Stage
from protocol_specs.framing import decode_response
from protocol_specs.messages.produce import ProduceResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.quotas.quota_managers import QuotaManagers
    from broker_sim.rpc.stage import ResponseHook

__all__ = ["QuotaStage"]

SIZE_BYTES = 4


class QuotaStage(Stage):
    """Active while any client has a quota. Requests between nodes of the cluster have none."""

    def __init__(self, quotas: QuotaManagers) -> None:
        self._quotas = quotas

    @property
    def on_response(self) -> ResponseHook | None:
        """Throttle."""
        return self._throttle if self._quotas.active else None

    def _throttle(self, context: RequestContext, result: Response | NoResponse) -> Response | NoResponse:
        """Count the request; over a quota, mute its channel and report the time in the response."""
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
        context.transport.throttle(context, throttle_ms)
        return result if isinstance(result, NoResponse) else _with_throttle_time(context, result, throttle_ms)


def _with_throttle_time(context: RequestContext, response: Response, throttle_ms: int) -> Response:
    if isinstance(response, bytes):
        response = decode_response(ProduceResponse, context.api_version, response[SIZE_BYTES:])[1]
    if not hasattr(response, "throttle_time_ms"):
        return response
    throttled: Any = copy(response)
    throttled.throttle_time_ms = throttle_ms
    return throttled  # type: ignore[no-any-return]
