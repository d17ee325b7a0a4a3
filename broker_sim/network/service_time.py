"""Models the cost of handling a request: the time for which a handler's slot is occupied before the request is applied.

    pool.service_time = FixedServiceTime(5.0)
    pool.service_time = ServiceTimeByApi({"Produce": Exponential(2.0), "Fetch": Fixed(0.5)}, random=stream)
    pool.service_time = ServiceTimeByApi(measured(journal.events_of(ResponseSent)), random=stream)

A service time produces pool exhaustion, head-of-line blocking and long request queues, identical in each run of a seed.
`measured` uses the handling times of a run on real time (the local time of RequestMetrics).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.errors import BrokerSimError
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.control.events import ResponseSent

__all__ = [
    "Distribution",
    "Exponential",
    "Fixed",
    "FixedServiceTime",
    "LogNormal",
    "Measured",
    "ServiceTimeByApi",
    "Uniform",
    "measured",
]

SERVICE_TIME_MS_MAX: Final = 60_000.0
"""The upper limit of a drawn service time: the tail of a distribution must not stop a run."""
SAMPLES_MAX: Final = 10_000
"""The maximum number of measured times per API; the latest ones are kept."""


class Distribution(Protocol):
    """Draws service times in milliseconds."""

    def draw_ms(self, random: Random) -> float:
        """Return one service time."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same time for every request."""

    ms: float

    def draw_ms(self, random: Random) -> float:  # noqa: ARG002 - the signature of Distribution
        """Return the fixed time."""
        return self.ms


@dataclass(frozen=True, slots=True)
class Uniform:
    """A uniform distribution between two times."""

    lowest_ms: float
    highest_ms: float

    def draw_ms(self, random: Random) -> float:
        """Return a time of the interval."""
        return random.uniform(self.lowest_ms, self.highest_ms)


@dataclass(frozen=True, slots=True)
class Exponential:
    """An exponential distribution, the usual one of queueing theory: mostly short times, few long ones."""

    mean_ms: float

    def draw_ms(self, random: Random) -> float:
        """Return a time of a distribution with this mean."""
        return random.expovariate(1 / self.mean_ms) if self.mean_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class LogNormal:
    """A log-normal distribution with a long tail: half of all times are below the median; with a `sigma` of 1 one time
    in 40 is seven times as long.
    """

    median_ms: float
    sigma: float

    def draw_ms(self, random: Random) -> float:
        """Return a time of a distribution with this median."""
        return self.median_ms * random.lognormvariate(0.0, self.sigma)


@dataclass(frozen=True, slots=True)
class Measured:
    """The distribution of measured times."""

    samples_ms: tuple[float, ...]

    def draw_ms(self, random: Random) -> float:
        """Return one of the samples."""
        return random.choice(self.samples_ms)


class FixedServiceTime:
    """The same service time for every request of every API.

    Raises:
        BrokerSimError: The time is negative or above SERVICE_TIME_MS_MAX.
    """

    __slots__ = ("ms",)

    def __init__(self, ms: float) -> None:
        self.ms = _checked(ms)

    def __call__(self, context: RequestContext) -> float:  # noqa: ARG002 - the same for all
        """Return the time in milliseconds."""
        return self.ms


class ServiceTimeByApi:
    """One distribution per API, by Kafka's name of the API; other APIs use `default`, or take no time.

    Raises:
        UnknownApi: Kafka has no API of a given name.
    """

    __slots__ = ("_by_key", "_default", "_random")

    def __init__(
        self, distributions: Mapping[str, Distribution], *, random: Random, default: Distribution | None = None
    ) -> None:
        self._by_key = {ApiKey.named(name): distribution for name, distribution in distributions.items()}
        self._default = default
        self._random = random

    def __call__(self, context: RequestContext) -> float:
        """Return a time in milliseconds, drawn for this request."""
        distribution = self._by_key.get(context.api_key, self._default)
        if distribution is None:
            return 0.0
        return min(max(distribution.draw_ms(self._random), 0.0), SERVICE_TIME_MS_MAX)


def measured(events: Iterable[ResponseSent]) -> dict[str, Distribution]:
    """Return one distribution per API of the local times in a run's journal."""
    samples: dict[str, list[float]] = {}
    for event in events:
        samples.setdefault(event.api, []).append(event.local_us / 1000)
    return {api: Measured(tuple(times[-SAMPLES_MAX:])) for api, times in samples.items()}


def _checked(ms: float) -> float:
    if not 0 <= ms <= SERVICE_TIME_MS_MAX:
        msg = f"service time: {ms} ms is not between 0 and {SERVICE_TIME_MS_MAX}"
        raise BrokerSimError(msg)
    return ms
