"""The quotas of clients at one broker, and how long a client waits that is over one (KIP-219). Mirrors QuotaManagers.

The response of a client over its quota is sent at once, with the time to wait; its channel stays muted for that long.
Before 2.0 the response is sent when the time is over.
While no user and no client has had a quota, `active` is False and nothing here is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_sim.quotas.client_quota_manager import BandwidthQuotaManager
from broker_sim.quotas.client_quotas_image import IP
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.quotas.client_quotas_image import ClientQuotasImage

__all__ = ["QuotaManagers", "Throttles"]

PERCENT_OF_A_SECOND_US: Final = 1e-4
"""One microsecond as percent of a second."""
NOT_DECIDED: Final = -1


class MeteredRequest(Protocol):
    """The facts of a request that quotas count; times in microseconds, -1 for none."""

    api_key: ApiKey
    client_id: str | None
    request: Any
    dequeued_us: int
    local_done_us: int
    remote_done_us: int
    throttle_ms: int

    @property
    def user(self) -> str:
        """The name of the client's principal."""

    @property
    def size_bytes(self) -> int:
        """The size of the request."""


@dataclass(slots=True)
class Throttles:
    """The requests of a client that exceeded a quota."""

    requests: int = 0
    total_ms: int = 0


class QuotaManagers:
    """The three quotas that a broker keeps; `apply` takes those of its metadata."""

    __slots__ = ("_now_us", "_throttles", "_watchers", "active", "delays_responses", "fetch", "produce", "request")

    def __init__(
        self, config: BrokerConfig, now_us: Callable[[], int], throttles: dict[str, Throttles] | None = None
    ) -> None:
        """`throttles` counts by client.id, over all starts of a broker."""
        self._throttles = {} if throttles is None else throttles
        samples, window_s = config["quota.window.num"], config["quota.window.size.seconds"]
        assert isinstance(samples, int)
        assert isinstance(window_s, int)
        self._now_us = now_us
        self.active = False
        self.delays_responses = config.behaviour.throttles_before_the_response
        """True if a response waits for the throttle time of its client (before KIP-219)."""
        self._watchers: dict[Callable[[], None], None] = {}

        def manager(key: str, *, bounded: bool = False) -> BandwidthQuotaManager:
            kinds_stay = config.behaviour.quota_kinds_stay
            return BandwidthQuotaManager(
                key, samples=samples, window_s=window_s, kinds_stay=kinds_stay, bounded=bounded
            )

        self.produce = manager("producer_byte_rate")
        self.fetch = manager("consumer_byte_rate")
        self.request = manager("request_percentage", bounded=True)

    def apply(self, image: ClientQuotasImage) -> None:
        """The metadata has other quotas."""
        for manager in (self.produce, self.fetch, self.request):
            manager.apply(image)
        # The controller's own quota comes with its responses: any entity except an address is reason enough.
        # Before 4.2 what was counted once is counted until the broker stops.
        self.active = self.active or any(IP not in entity.names for entity, _ in image.items())
        for changed in list(self._watchers):
            changed()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when `active` may have changed; the function that is returned ends that."""
        self._watchers[changed] = None
        return lambda: self._watchers.pop(changed, None)

    def fetch_max_bytes(self, context: MeteredRequest, max_bytes: int) -> int:
        """A consumer gets no more at once than its quota allows for a window. Mirrors handleFetchRequest."""
        return int(min(max_bytes, self.fetch.max_value_in_window(context.user, context.client_id)))

    def decide_fetch(self, context: MeteredRequest, response_size: int) -> int:
        """Return how long a consumer waits for a response of this size.

        A throttled one is empty and not counted, unless it is the response that waits.
        """
        now_ms = self._now_us() // 1000
        request_ms = self._request_throttle_ms(context, now_ms)
        fetch_ms = self.fetch.record_and_get_throttle_ms(context.user, context.client_id, response_size, now_ms)
        context.throttle_ms = max(request_ms, fetch_ms)
        if context.throttle_ms > 0 and not self.delays_responses:
            self.fetch.unrecord(context.user, context.client_id, response_size, now_ms)
        return context.throttle_ms

    def throttle_ms(self, context: MeteredRequest, response: object) -> int:
        """Count a request that gets its response now; return how long its client shall wait, in ms."""
        if context.throttle_ms == NOT_DECIDED:
            context.throttle_ms = self._throttle_ms(context, response)
        return context.throttle_ms

    def throttle_ms_without_response(self, context: MeteredRequest) -> int:
        """Count a Produce with acks=0: it costs its bytes, and its client gets no throttle time."""
        if context.api_key is not ApiKey.PRODUCE:
            return 0
        throttle_ms = self.produce.record_and_get_throttle_ms(
            context.user, context.client_id, context.size_bytes, self._now_us() // 1000
        )
        if throttle_ms > 0:
            context.throttle_ms = throttle_ms
        return throttle_ms

    def note(self, context: MeteredRequest, throttle_ms: int) -> None:
        """Count a request whose client has to wait."""
        throttles = self._throttles.setdefault(context.client_id or "", Throttles())
        throttles.requests += 1
        throttles.total_ms += throttle_ms

    def _throttle_ms(self, context: MeteredRequest, response: object) -> int:
        if context.api_key.facts.exempt_from_quotas or _is_from_follower(context):
            return 0
        now_ms = self._now_us() // 1000
        request_ms = self._request_throttle_ms(context, now_ms)
        if context.api_key is ApiKey.PRODUCE:
            produce_ms = self.produce.record_and_get_throttle_ms(
                context.user, context.client_id, context.size_bytes, now_ms
            )
            return max(produce_ms, request_ms)
        # A response of the controller has the throttle time of the controller's own quota.
        return max(getattr(response, "throttle_time_ms", 0), request_ms)

    def _request_throttle_ms(self, context: MeteredRequest, now_ms: int) -> int:
        if not self.request.enabled:
            return 0
        now_us = self._now_us()
        local_done_us = context.local_done_us if context.local_done_us >= 0 else now_us
        callback_us = now_us - context.remote_done_us if context.remote_done_us >= 0 else 0
        busy_us = max(0, local_done_us - context.dequeued_us) + callback_us
        percents = busy_us * PERCENT_OF_A_SECOND_US
        return self.request.record_and_get_throttle_ms(context.user, context.client_id, percents, now_ms)


def _is_from_follower(context: MeteredRequest) -> bool:
    if context.api_key is not ApiKey.FETCH:
        return False
    request = context.request
    return bool(request.replica_id >= 0 or request.replica_state.replica_id >= 0)
