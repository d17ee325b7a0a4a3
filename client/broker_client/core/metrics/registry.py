"""The sensors of one client and the metrics that they make. Mirrors Metrics, Sensor and KafkaMetric.

Values are recorded by the network thread and by callers who waited; metrics are read from any thread. One lock guards
all statistics of a client, so that what is read belongs to one moment.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_client.core.metrics.stats import (
    SECONDS,
    WAITING_MAX,
    CumulativeCount,
    CumulativeSum,
    MetricConfig,
    Rate,
    SampleWindow,
    Stat,
    WindowedCount,
    WindowedSum,
)
from broker_client.errors import IllegalState
from broker_client.metrics import Metric, MetricName, MetricsSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_client.metrics import MetricValue

__all__ = ["Metrics", "RecordingLevel", "RegisteredMetric", "Sensor"]

_COUNT_GROUP: Final = "kafka-metrics-count"
NAMES_KEPT: Final = 4096
"""Most names are those of clients before: of one that begins anew, or of other nodes and topics."""
_Unmade: TypeAlias = "tuple[MetricName, Callable[[Any], Any], SampleWindow | None, int]"
"""Name, the class of the statistic of a window or, without one, the function of a gauge, and the time of the addition.
"""


class RecordingLevel(IntEnum):
    """metrics.recording.level: sensors up to this one record. All of Kafka's producer are INFO."""

    INFO = 0
    DEBUG = 1
    TRACE = 2


class RegisteredMetric:
    """A name and where its value comes from: a statistic, or a function of the time."""

    __slots__ = ("added_ms", "measure", "name", "stat")

    def __init__(
        self, name: MetricName, measure: Callable[[int], MetricValue], stat: Stat | None, added_ms: int
    ) -> None:
        self.name = name
        self.measure = measure
        self.stat = stat
        self.added_ms = added_ms


class Sensor:
    """Takes values in, for all its statistics at once, and hands them to its parents."""

    __slots__ = ("_lock", "_made_ms", "_metrics", "_own", "_waiting", "_window", "names", "windows")

    def __init__(self, metrics: Metrics, lock: Lock, parents: Iterable[Sensor], *, records: bool) -> None:
        self._metrics = metrics
        self._lock = lock
        self._made_ms = metrics.now_ms()
        self._window = SampleWindow(metrics.config)
        self.names: list[MetricName] = []
        """The metrics that are made of this sensor's values."""
        above = [window for parent in parents for window in parent.windows]
        self.windows: list[SampleWindow] = [self._window, *above] if records else []
        self._own = self._window.waiting
        self._waiting = [window.waiting for window in self.windows]

    def add(self, name: MetricName, stat: Callable[[SampleWindow], Stat]) -> None:
        """A metric made of this sensor's values: `stat` is a class of statistics."""
        self._metrics.register(name, stat, self._window, self._made_ms)
        self.names.append(name)

    def add_meter(self, rate: MetricName, total: MetricName, *, counts: bool = False, unit: float = SECONDS) -> None:
        """A rate and a total, of values or of how many there were. Mirrors Meter."""
        self.add(total, CumulativeCount if counts else CumulativeSum)
        self.add(rate, _rate(unit, counts=counts))

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        recorded = value, now_ms
        for waiting in self._waiting:
            waiting.append(recorded)
        if len(self._own) >= WAITING_MAX:
            with self._lock:
                for window in self.windows:
                    window.take_in()


class Metrics:
    """All metrics of one client; `tags` are part of every name, `now_ms` is the client's clock.

    Metrics are made of their sensors when they are read or removed: many a client ends before that.
    """

    def __init__(
        self,
        *,
        config: MetricConfig,
        now_ms: Callable[[], int],
        tags: Mapping[str, str],
        level: RecordingLevel = RecordingLevel.INFO,
    ) -> None:
        self.config = config
        self.now_ms = now_ms
        self._level = level
        self._tags = tuple(tags.items())
        self._lock = Lock()
        self._registering = Lock()
        self._metrics: dict[MetricName, RegisteredMetric] = {}
        self._unmade: deque[_Unmade] = deque()
        self._later: list[Callable[[], None]] = []
        count = self.name("count", _COUNT_GROUP, "total number of registered metrics")
        self.gauge(count, lambda _: float(len(self._metrics)))

    def later(self, register: Callable[[], None]) -> None:
        """Call `register` before metrics are read or removed next. It adds metrics to sensors that record already."""
        self._later.append(register)

    def name(self, name: str, group: str, description: str = "", **tags: str) -> MetricName:
        """A metric's name, with the client's tags and its own."""
        own = [(key.replace("_", "-"), value) for key, value in tags.items()] if tags else ()
        return _name(group, name, (*self._tags, *own), description)

    def sensor(self, *parents: Sensor, level: RecordingLevel = RecordingLevel.INFO) -> Sensor:
        """A sensor that records when its level does."""
        return Sensor(self, self._lock, parents, records=level <= self._level)

    def gauge(self, name: MetricName, measure: Callable[[int], MetricValue]) -> None:
        """A metric whose function is called with the time at each read."""
        self._unmade.append((name, measure, None, self.now_ms()))

    def register(
        self, name: MetricName, stat: Callable[[SampleWindow], Stat], window: SampleWindow, added_ms: int
    ) -> None:
        """A metric that a statistic makes of a sensor's window."""
        self._unmade.append((name, stat, window, added_ms))

    def remove(self, names: Iterable[MetricName]) -> None:
        """Have these metrics no more."""
        self._register_now()
        with self._lock:
            for name in names:
                self._metrics.pop(name, None)

    def registered(self) -> list[RegisteredMetric]:
        """Every metric there is; those that were registered later follow the others."""
        self._register_now()
        with self._lock:
            return list(self._metrics.values())

    def measure(self, metric: RegisteredMetric, now_ms: int) -> MetricValue:
        """The present value of one metric."""
        with self._lock:
            return metric.measure(now_ms)

    def read(self) -> MetricsSnapshot:
        """The present values of all of them; from any thread."""
        now_ms = self.now_ms()
        self._register_now()
        with self._lock:
            found = [Metric(metric_name=one.name, value=one.measure(now_ms)) for one in self._metrics.values()]
        return MetricsSnapshot(found)

    def _register_now(self) -> None:
        with self._registering:
            self._make()
            while self._later:
                self._later.pop(0)()
                self._make()

    def _make(self) -> None:
        while self._unmade:
            name, source, window, added_ms = self._unmade.popleft()
            if window is None:
                self._put(RegisteredMetric(name, source, None, added_ms))
            else:
                stat = source(window)
                self._put(RegisteredMetric(name, stat.measure, stat, added_ms))

    def _put(self, metric: RegisteredMetric) -> None:
        with self._lock:
            if self._metrics.setdefault(metric.name, metric) is not metric:
                raise IllegalState(f"there is a metric {metric.name} already")


@cache
def _rate(unit: float, *, counts: bool) -> Callable[[SampleWindow], Rate]:
    stat = WindowedCount if counts else WindowedSum
    return lambda window: Rate(stat(window), unit)


@lru_cache(NAMES_KEPT)
def _name(group: str, name: str, tags: tuple[tuple[str, str], ...], description: str) -> MetricName:
    return MetricName(group=group, name=name, tags=tags, description=description)
