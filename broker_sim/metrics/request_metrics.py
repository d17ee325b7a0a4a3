"""The requests that a broker has served, per API, and where their time went. Mirrors RequestChannel.Metrics.

A request costs a number when it comes in. The first TIMED_ALL of a broker's run are timed at their response, later one
of TIMED_ONE_OF, as Kafka's reservoirs keep a sample; histograms are made of the newest KEPT on access. Times are those
of the reactor.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_sim.metrics.metric import Histogram, Meter, Metric, histogram_of
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["FOLLOWER_BIT", "TIMED_ALL", "TIMED_ONE_OF", "RequestMetrics", "is_follower"]

KEPT: Final = 4096
"""The number of newest requests, of all APIs together, in the histograms."""
TIMED_ALL: Final = 1024
TIMED_ONE_OF: Final = 32
FOLLOWER_BIT: Final = 1 << 40
TIMES: Final = (
    "RequestQueueTimeMs",
    "LocalTimeMs",
    "RemoteTimeMs",
    "ThrottleTimeMs",
    "ResponseQueueTimeMs",
    "ResponseSendTimeMs",
    "TotalTimeMs",
)
SIZES: Final = ("RequestBytes", "ResponseBytes")
CONSUMER: Final = "FetchConsumer"
FOLLOWER: Final = "FetchFollower"


class MeasuredRequest(Protocol):
    """The measured facts of a request; times in microseconds, -1 for none."""

    api_key: ApiKey
    api_version: int
    request: Any
    request_id: int
    received_us: int
    dequeued_us: int
    local_done_us: int
    remote_done_us: int
    throttle_ms: int

    @property
    def size_bytes(self) -> int:
        """The size of the request."""


class RequestMetrics:
    """The requests of one broker's run."""

    __slots__ = ("_now_us", "_recent", "busy_us", "counts")

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self.counts: defaultdict[int, int] = defaultdict(int)
        """By API key (upper bits) and version; with FOLLOWER_BIT the Fetches of followers."""
        self._recent: deque[tuple[int, int, int, int, int, int, int, int, int, int]] = deque(maxlen=KEPT)
        self.busy_us = 0
        """How long handlers were busy with all of them."""

    def sent(self, context: MeasuredRequest, size: int, send_us: int) -> None:
        """Record the times of a request; sending its `size` bytes took `send_us`. Only a sample is recorded."""
        weight = 1 if context.request_id <= TIMED_ALL else TIMED_ONE_OF
        key = context.api_key << 16 | context.api_version
        if context.api_key is ApiKey.FETCH and is_follower(context.request):
            key |= FOLLOWER_BIT
        now_us = self._now_us()
        dequeued_us = context.dequeued_us
        local_us = context.local_done_us
        if local_us < 0:
            local_us = now_us - send_us
        self.busy_us += (local_us - dequeued_us) * weight
        self._recent.append(
            (
                key,
                context.received_us,
                dequeued_us,
                local_us,
                context.remote_done_us,
                context.throttle_ms,
                send_us,
                now_us,
                context.size_bytes,
                size,
            )
        )

    def metrics(self, broker: int, elapsed_s: float) -> list[Metric]:
        """Return the metrics of RequestMetrics, API by API."""
        made = []
        names: dict[str, int] = {}
        for key, count in sorted(self.counts.items()):
            for name in _names(key):
                names[name] = names.get(name, 0) + count
                tags = (("request", name), ("version", str(key & 0xFFFF)))
                made.append(_metric(broker, "RequestsPerSec", tags, Meter(count=count, mean_rate=count / elapsed_s)))
        samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
        for recent in self._recent:
            values = _values(*recent[1:])
            for name in _names(recent[0]):
                samples[name].append(values)
        for name, count in names.items():
            columns = list(zip(*samples[name], strict=True)) or [()] * (len(TIMES) + len(SIZES))
            for metric, column in zip((*TIMES, *SIZES), columns, strict=True):
                made.append(_metric(broker, metric, (("request", name),), histogram_of(column, count)))
        return made


def _values(
    received_us: int,
    dequeued_us: int,
    local_us: int,
    remote_us: int,
    throttle_ms: int,
    send_us: int,
    now_us: int,
    request_size: int,
    response_size: int,
) -> tuple[float, ...]:
    remote_us = max(remote_us, local_us)
    return (
        (dequeued_us - received_us) / 1000,
        (local_us - dequeued_us) / 1000,
        (remote_us - local_us) / 1000,
        float(max(0, throttle_ms)),
        max(0, now_us - send_us - remote_us) / 1000,
        send_us / 1000,
        (now_us - received_us) / 1000,
        float(request_size),
        float(response_size),
    )


def _metric(broker: int, name: str, tags: tuple[tuple[str, str], ...], value: Meter | Histogram) -> Metric:
    return Metric(
        domain="kafka.network",
        type="RequestMetrics",
        name=name,
        broker=broker,
        tags=tags,
        value=value,
    )


def _names(key: int) -> tuple[str, ...]:
    name = ApiKey.of(key >> 16 & 0xFFFF).api_name
    if key >> 16 & 0xFFFF == ApiKey.FETCH:
        return name, FOLLOWER if key & FOLLOWER_BIT else CONSUMER
    return (name,)


def is_follower(request: Any) -> bool:
    """Return True for a follower's Fetch."""
    return request is not None and (request.replica_id >= 0 or request.replica_state.replica_id >= 0)
