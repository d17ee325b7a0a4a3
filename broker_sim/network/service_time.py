"""What handling a request costs, modelled: how long a handler's slot is occupied before the request is applied.

    pool.service_time = FixedServiceTime(5.0)
    pool.service_time = ServiceTimeByApi({"Produce": Exponential(2.0), "Fetch": Fixed(0.5)}, random=stream)
    pool.service_time = ServiceTimeByApi(measured(journal.events_of(ResponseSent)), random=stream)

With it, pool exhaustion, head-of-line blocking and long request queues are made on purpose, the same in each run of a
seed. `measured` takes over what handling really took in a run on real time (the local time of RequestMetrics).
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
"""A drawn service time is cut here, so that the tail of a distribution never stops a run."""
SAMPLES_MAX: Final = 10_000
"""Of what was measured so many of an API are kept, the latest."""


class Distribution(Protocol):
    """Draws service times in milliseconds."""

    def draw_ms(self, random: Random) -> float:
        """One service time."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same."""

    ms: float

    def draw_ms(self, random: Random) -> float:  # noqa: ARG002 - there is no chance in it
        """The fixed time."""
        return self.ms


@dataclass(frozen=True, slots=True)
class Uniform:
    """Anything between two times."""

    lowest_ms: float
    highest_ms: float

    def draw_ms(self, random: Random) -> float:
        """A time of the interval."""
        return random.uniform(self.lowest_ms, self.highest_ms)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Mostly short, seldom long: what a queue's textbook serves with."""

    mean_ms: float

    def draw_ms(self, random: Random) -> float:
        """A time with this mean."""
        return random.expovariate(1 / self.mean_ms) if self.mean_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class LogNormal:
    """A long tail: half of all times are below the median; `sigma` of 1 makes every 40th seven times as long."""

    median_ms: float
    sigma: float

    def draw_ms(self, random: Random) -> float:
        """A time with this median."""
        return self.median_ms * random.lognormvariate(0.0, self.sigma)


@dataclass(frozen=True, slots=True)
class Measured:
    """One of the times that were measured."""

    samples_ms: tuple[float, ...]

    def draw_ms(self, random: Random) -> float:
        """One of the samples."""
        return random.choice(self.samples_ms)


class FixedServiceTime:
    """Every request of every API takes the same time."""

    __slots__ = ("ms",)

    def __init__(self, ms: float) -> None:
        self.ms = _checked(ms)

    def __call__(self, context: RequestContext) -> float:  # noqa: ARG002 - the same for all
        """The time in milliseconds."""
        return self.ms


class ServiceTimeByApi:
    """Each API has its distribution, by Kafka's name of it (else UnknownApi); others take `default`, or no time."""

    __slots__ = ("_by_key", "_default", "_random")

    def __init__(
        self, distributions: Mapping[str, Distribution], *, random: Random, default: Distribution | None = None
    ) -> None:
        self._by_key = {ApiKey.named(name): distribution for name, distribution in distributions.items()}
        self._default = default
        self._random = random

    def __call__(self, context: RequestContext) -> float:
        """A time in milliseconds, drawn for this request."""
        distribution = self._by_key.get(context.api_key, self._default)
        if distribution is None:
            return 0.0
        return min(max(distribution.draw_ms(self._random), 0.0), SERVICE_TIME_MS_MAX)


def measured(events: Iterable[ResponseSent]) -> dict[str, Distribution]:
    """The local times of answered requests by API, as a run's journal has them."""
    samples: dict[str, list[float]] = {}
    for event in events:
        samples.setdefault(event.api, []).append(event.local_us / 1000)
    return {api: Measured(tuple(times[-SAMPLES_MAX:])) for api, times in samples.items()}


def _checked(ms: float) -> float:
    if not 0 <= ms <= SERVICE_TIME_MS_MAX:
        msg = f"service time: {ms} ms is not between 0 and {SERVICE_TIME_MS_MAX}"
        raise BrokerSimError(msg)
    return ms
