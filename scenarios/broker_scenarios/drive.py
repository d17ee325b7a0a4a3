"""One producer's share of a load, sent when it is due, by a Spark task or by a thread.

Yields the events of the history. A function makes the clients, so that any client with this interface can be driven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from threading import Event
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from twisted.python.runtime import seconds

from broker_client.errors import ProducerError
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import HistoryRecorder
from broker_scenarios.sends import NOWHERE, DeliveryCallback, Sends
from broker_scenarios.workloads.values import value_bytes

if TYPE_CHECKING:
    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.workloads.keyed_load import LoadRow

__all__ = [
    "DriveSpec",
    "LoadClock",
    "LoadProducer",
    "ProducerFactory",
    "begun_together",
    "broker_client_producer",
    "drive_share",
]

T = TypeVar("T")

_EARLY_S: Final = 0.001
"""How much earlier than due a record may be sent: a wait is rarely more exact."""
_YIELD_EVENTS: Final = 8_192


class LoadProducer(Protocol):
    """The part of broker_client.Producer's interface that a task needs."""

    def send(
        self, topic: str, *, value: bytes | None, key: bytes | None, on_delivery: DeliveryCallback | None
    ) -> object:
        """Accept a record; calls `on_delivery` once with its metadata and its error."""

    def close(self, timeout: float, /) -> None:
        """Send the buffered records, report every record and close, within `timeout` seconds."""


ProducerFactory = Callable[[Mapping[str, str]], LoadProducer]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveSpec:
    """The settings of one share of the load; Spark sends them to its tasks."""

    run_id: str
    bootstrap_servers: str
    producer_config: Mapping[str, str] = field(default_factory=dict)
    deadline_s: float = 300.0
    """How late a record may be before the drive fails, in seconds."""
    close_timeout_s: float = 150.0
    """How long the client may take to complete the open records after the last send, in seconds."""

    def client_config(self, producer_id: int) -> dict[str, str]:
        """Return the configuration of the client of a producer."""
        return {
            **self.producer_config,
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": f"producer-{producer_id}",
        }

    def check_lateness(self, late_s: float) -> None:
        """Raise ScenarioError if a record is sent later than allowed."""
        if late_s > self.deadline_s:
            raise ScenarioError(
                f"a record is {late_s:.0f} s late: the cluster is too slow for the load's rate, "
                f"deadline_s allows {self.deadline_s:.0f}"
            )


class LoadClock:
    """The times of one share of a load, which begins with `begin`.

    The thread of a task has no reactor: its clock is the platform's, as a real reactor's is.
    """

    def __init__(
        self,
        spec: DriveSpec,
        now_s: Callable[[], float] = seconds,
        wait_s: Callable[[float], object] | None = None,
    ) -> None:
        self._spec = spec
        self._now_s = now_s
        self._wait_s = wait_s or Event().wait
        self._began_s = 0.0

    def begin(self) -> None:
        """Let the load begin now."""
        self._began_s = self._now_s()

    def now_us(self) -> int:
        """The time, in microseconds since the epoch."""
        return int(self._now_s() * 1e6)

    def due_us(self) -> float:
        """The time since the beginning at which what is sent now is due at the latest, in microseconds."""
        return (self._now_s() - self._began_s + _EARLY_S) * 1e6

    def await_due(self, due_us: int) -> None:
        """Wait until so many microseconds after the beginning. Raises ScenarioError if it is too late."""
        early_s = self._began_s + due_us / 1e6 - self._now_s()
        if early_s > _EARLY_S:
            self._wait_s(early_s)
        self._spec.check_lateness(-early_s)


def begun_together(items: Iterable[T], clock: LoadClock, start_together: Callable[[], object]) -> Iterator[T]:
    """Yield the items once all other shares are ready too: `start_together` returns then, and the load begins.

    The first item starts Spark's shuffle, and the share is ready only after it.
    """
    rest = iter(items)
    first = list(islice(rest, 1))
    start_together()
    clock.begin()
    yield from chain(first, rest)


def broker_client_producer(config: Mapping[str, str]) -> LoadProducer:
    """The producer of this project."""
    from broker_client import Producer

    return Producer(config)


def drive_share(
    rows: Iterable[LoadRow],
    spec: DriveSpec,
    make_producer: ProducerFactory,
    *,
    start_together: Callable[[], object] = lambda: None,
    now_s: Callable[[], float] = seconds,
    wait_s: Callable[[float], object] | None = None,
) -> Iterator[list[HistoryEvent]]:
    """Send these rows when they are due, and yield the events of the history in chunks.

    `start_together` returns when all other shares are ready too.

    Raises:
        ScenarioError: a record is later than `spec.deadline_s`.
    """
    clock = LoadClock(spec, now_s, wait_s)
    task = _Task(spec, make_producer, clock)
    try:
        yield from task.send_rows(begun_together(rows, clock, start_together))
    finally:
        task.close()
    yield from task.history(least=1)


class _Task:
    """The state of one task: the clients of its rows (one, as the load is divided) and the history so far."""

    def __init__(self, spec: DriveSpec, make_producer: ProducerFactory, clock: LoadClock) -> None:
        self._spec = spec
        self._make_producer = make_producer
        self._clock = clock
        self._recorder = HistoryRecorder(spec.run_id)
        self._clients: dict[int, tuple[LoadProducer, Sends]] = {}

    def send_rows(self, rows: Iterable[LoadRow]) -> Iterator[list[HistoryEvent]]:
        """Send these rows, and yield the history whenever a chunk is full."""
        for row in rows:
            client, sends = self._clients.get(row.producer_id) or self._connect(row.producer_id)
            self._clock.await_due(row.due_us)
            self._send(client, sends, row)
            yield from self.history(least=_YIELD_EVENTS)

    def history(self, *, least: int) -> Iterator[list[HistoryEvent]]:
        """Yield the recorded events while there are at least so many."""
        while len(self._recorder) >= least:
            yield self._recorder.drain(_YIELD_EVENTS)

    def close(self) -> None:
        """Close every client; a record that its client does not complete in time stays unresolved."""
        for client, _ in self._clients.values():
            with suppress(ProducerError):
                client.close(self._spec.close_timeout_s)

    def _connect(self, producer_id: int) -> tuple[LoadProducer, Sends]:
        sends = Sends(self._recorder, process=producer_id, producer_id=producer_id, now_us=self._clock.now_us)
        made = self._clients[producer_id] = (self._make_producer(self._spec.client_config(producer_id)), sends)
        return made

    def _send(self, client: LoadProducer, sends: Sends, row: LoadRow) -> None:
        delivered = sends.invoke(topic=row.topic, key=row.key, value_id=row.value_id, size_bytes=row.size_bytes)
        try:
            client.send(row.topic, value=value_bytes(row.value_id, row.size_bytes), key=row.key, on_delivery=delivered)
        except ProducerError as error:
            # The client refused the record, so it will not call back.
            delivered(NOWHERE, error)
