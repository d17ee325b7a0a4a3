"""The quotas of clients at one broker, and what they make of its answers (KIP-219). Mirrors QuotaManagers with
RequestHandlerHelper.

A client over its quota is answered at once, with the time that it shall wait; its channel stays muted for that long.
While no user and no client has a quota, `active` is False and nothing here is asked.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.prepared_response import PreparedResponse
from broker_sim.quotas.client_quota_manager import ANONYMOUS, BandwidthQuotaManager
from broker_sim.quotas.client_quotas_image import IP
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import decode_response
from protocol_specs.messages.produce import ProduceResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import RequestContext, Response
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.quotas.client_quotas_image import ClientQuotasImage

__all__ = ["QuotaManagers"]

PERCENT_OF_A_SECOND_US: Final = 1e-4
"""One microsecond as percents of a second."""
NOT_DECIDED: Final = -1


class QuotaManagers:
    """The three quotas that a broker keeps; `apply` takes those of its metadata."""

    __slots__ = ("_now_us", "active", "fetch", "produce", "request")

    def __init__(self, config: BrokerConfig, now_us: Callable[[], int]) -> None:
        samples, window_s = config["quota.window.num"], config["quota.window.size.seconds"]
        assert isinstance(samples, int)
        assert isinstance(window_s, int)
        self._now_us = now_us
        self.active = False
        self.produce = BandwidthQuotaManager("producer_byte_rate", samples=samples, window_s=window_s)
        self.fetch = BandwidthQuotaManager("consumer_byte_rate", samples=samples, window_s=window_s)
        self.request = BandwidthQuotaManager("request_percentage", samples=samples, window_s=window_s, bounded=True)

    def apply(self, image: ClientQuotasImage) -> None:
        """The metadata has other quotas."""
        for manager in (self.produce, self.fetch, self.request):
            manager.apply(image)
        # The controller's own quota comes with its answers: any entity but an address is reason enough.
        self.active = any(IP not in entity.names for entity, _ in image.items())

    def fetch_max_bytes(self, context: RequestContext, max_bytes: int) -> int:
        """A consumer gets no more at once than its quota allows for a window. Mirrors handleFetchRequest."""
        return int(min(max_bytes, self.fetch.max_value_in_window(ANONYMOUS, context.client_id)))

    def decide_fetch(self, context: RequestContext, response_size: int) -> int:
        """How long a consumer waits for an answer of this size; if at all, the answer is empty and not counted."""
        now_ms = self._now_us() // 1000
        request_ms = self._request_throttle_ms(context, now_ms)
        fetch_ms = self.fetch.record_and_get_throttle_ms(ANONYMOUS, context.client_id, response_size, now_ms)
        context.throttle_ms = max(request_ms, fetch_ms)
        if context.throttle_ms > 0 and self.fetch.enabled:
            self.fetch.unrecord(ANONYMOUS, context.client_id, response_size, now_ms)
        return context.throttle_ms

    def throttle(self, context: RequestContext, response: Response) -> Response:
        """Count a request that is answered now; if it is too much, mute its channel and tell the client."""
        if context.throttle_ms == NOT_DECIDED:
            context.throttle_ms = self._throttle_ms(context, response)
        throttle_ms = context.throttle_ms
        if throttle_ms <= 0:
            return response
        assert context.channel is not None
        context.channel.throttle(throttle_ms)
        return _with_throttle(context, response, throttle_ms)

    def throttle_without_answer(self, context: RequestContext) -> None:
        """Count a Produce with acks=0: it costs its bytes, and nobody is told of the wait."""
        if context.api_key != ApiKey.PRODUCE:
            return
        throttle_ms = self.produce.record_and_get_throttle_ms(
            ANONYMOUS, context.client_id, context.size_bytes, self._now_us() // 1000
        )
        if throttle_ms > 0:
            assert context.channel is not None
            context.throttle_ms = throttle_ms
            context.channel.throttle(throttle_ms)

    def _throttle_ms(self, context: RequestContext, response: Response) -> int:
        if context.api_key.facts.exempt_from_quotas or _is_from_follower(context):
            return 0
        now_ms = self._now_us() // 1000
        request_ms = self._request_throttle_ms(context, now_ms)
        if context.api_key == ApiKey.PRODUCE:
            produce_ms = self.produce.record_and_get_throttle_ms(
                ANONYMOUS, context.client_id, context.size_bytes, now_ms
            )
            return max(produce_ms, request_ms)
        # A response of the controller says how long its own quota wants the client to wait.
        return max(getattr(response, "throttle_time_ms", 0), request_ms)

    def _request_throttle_ms(self, context: RequestContext, now_ms: int) -> int:
        if not self.request.enabled:
            return 0
        now_us = self._now_us()
        local_done_us = context.local_done_us if context.local_done_us >= 0 else now_us
        callback_us = now_us - context.remote_done_us if context.remote_done_us >= 0 else 0
        busy_us = max(0, local_done_us - context.dequeued_us) + callback_us
        percents = busy_us * PERCENT_OF_A_SECOND_US
        return self.request.record_and_get_throttle_ms(ANONYMOUS, context.client_id, percents, now_ms)


def _is_from_follower(context: RequestContext) -> bool:
    if context.api_key != ApiKey.FETCH:
        return False
    request = context.request
    return bool(request.replica_id >= 0 or request.replica_state.replica_id >= 0)


def _with_throttle(context: RequestContext, response: Response, throttle_ms: int) -> Response:
    if isinstance(response, PreparedResponse):
        response = decode_response(ProduceResponse, context.api_version, response[4:])[1]
    if not hasattr(response, "throttle_time_ms"):
        return response
    told: Any = copy(response)
    told.throttle_time_ms = throttle_ms
    return told  # type: ignore[no-any-return]
