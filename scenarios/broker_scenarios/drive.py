"""One producer's share of a load, sent when it is due: what a Spark task and a thread do alike.

Yields the history of what the client was told. The clients are made by a function, so that any client with
this face can be driven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.python.runtime import seconds

from broker_client.errors import ProducerError
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import HistoryRecorder
from broker_scenarios.sends import DeliveryCallback, Sends
from broker_scenarios.workloads.values import value_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from broker_client.core.producer.trace import Trace

__all__ = ["DriveSpec", "LoadProducer", "ProducerFactory", "broker_client_producer", "drive_share"]

_YIELD_EVENTS: Final = 8_192
_EARLY_S: Final = 0.001


class LoadProducer(Protocol):
    """The face of a producer that a task drives: that of broker_client.Producer."""

    def send(
        self, topic: str, *, value: bytes | None, key: bytes | None, on_delivery: DeliveryCallback | None
    ) -> object:
        """Take a record; calls back once with its metadata and its error."""

    def close(self, timeout: float, /) -> None:
        """Send what is buffered, report everything, and end, in at most `timeout` seconds."""


ProducerFactory = Callable[[Mapping[str, str]], LoadProducer]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveSpec:
    """What a task needs to know to send its share; it is sent to the tasks."""

    run_id: str
    bootstrap_servers: str
    producer_config: Mapping[str, str] = field(default_factory=dict)
    deadline_s: float = 300.0
    """How long sending may take, from the first record on."""
    close_timeout_s: float = 150.0
    """How long the client may take to report what is open once all is sent."""


def broker_client_producer(config: Mapping[str, str], *, trace: Trace | None = None) -> LoadProducer:
    """The producer of this project."""
    from broker_client import Producer

    return Producer(config, trace=trace)


def drive_share(
    batches: Iterable[pa.RecordBatch],
    spec: DriveSpec,
    make_producer: ProducerFactory,
    *,
    start_together: Callable[[], object] = lambda: None,
    now_s: Callable[[], float] = seconds,
    wait_s: Callable[[float], object] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Send these rows when they are due, and yield the history's batches as they fill.

    There is no reactor in the thread of a task: its clock is the platform's, as a real reactor's is.
    `start_together` returns when everybody else is ready too.
    """
    task = _Task(spec, make_producer, now_s, wait_s or Event().wait)
    try:
        # Reading the first batch makes the shuffle run; only then is everybody ready.
        rest = iter(batches)
        first = next(rest, None)
        start_together()
        task.started_s = now_s()
        if first is not None:
            yield from task.send_rows(first)
        for batch in rest:
            yield from task.send_rows(batch)
    finally:
        task.close()
    yield from task.history(least=1)


class _Task:
    """What one task holds: the clients of its rows (one, as the rows are cut), and the history so far."""

    def __init__(
        self,
        spec: DriveSpec,
        make_producer: ProducerFactory,
        now_s: Callable[[], float],
        wait_s: Callable[[float], object],
    ) -> None:
        self._spec = spec
        self._make_producer = make_producer
        self._now_s = now_s
        self._wait_s = wait_s
        self._recorder = HistoryRecorder(spec.run_id)
        self._clients: dict[int, tuple[LoadProducer, Sends]] = {}
        self.started_s = 0.0

    def send_rows(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Send these rows; a batch of history comes out now and then."""
        columns = {name: rows.column(name).to_pylist() for name in rows.schema.names}
        for producer_id, due_us, topic, key, value_id, size_bytes in zip(
            columns["producer_id"], columns["due_us"], columns["topic"], columns["key"], columns["value_id"],
            columns["size_bytes"], strict=True,
        ):  # fmt: skip
            client, sends = self._clients.get(producer_id) or self._connect(producer_id)
            self._await(due_us / 1e6)
            self._send(client, sends, topic, key, value_id, size_bytes)
            yield from self.history(least=_YIELD_EVENTS)

    def history(self, *, least: int) -> Iterator[pa.RecordBatch]:
        """What has been recorded, if it is so much."""
        while len(self._recorder) >= least:
            yield self._recorder.drain(_YIELD_EVENTS)

    def close(self) -> None:
        """Close every client; what a client does not report in time stays without completion: unresolved."""
        for client, _ in self._clients.values():
            with suppress(ProducerError):
                client.close(self._spec.close_timeout_s)

    def _connect(self, producer_id: int) -> tuple[LoadProducer, Sends]:
        config = {
            **self._spec.producer_config,
            "bootstrap.servers": self._spec.bootstrap_servers,
            "client.id": f"producer-{producer_id}",
        }
        sends = Sends(
            self._recorder, process=producer_id, producer_id=producer_id, now_us=lambda: int(self._now_s() * 1e6)
        )
        made = self._clients[producer_id] = (self._make_producer(config), sends)
        return made

    def _await(self, due_s: float) -> None:
        early = self.started_s + due_s - self._now_s()
        if early > _EARLY_S:
            self._wait_s(early)
        elif -early > self._spec.deadline_s:
            raise ScenarioError(
                f"a record is {-early:.0f} s late: the cluster is too slow for the load's rate, "
                f"deadline_s allows {self._spec.deadline_s:.0f}"
            )

    def _send(
        self, client: LoadProducer, sends: Sends, topic: str, key: bytes | None, value_id: int, size_bytes: int
    ) -> None:
        delivered = sends.invoke(topic=topic, key=key, value_id=value_id, size_bytes=size_bytes)
        try:
            client.send(topic, value=value_bytes(value_id, size_bytes), key=key, on_delivery=delivered)
        except ProducerError as error:
            # Refused before it was accepted: no callback will come.
            delivered(_NOWHERE, error)


@dataclass(frozen=True, slots=True)
class _Nowhere:
    partition: int = -1
    offset: int = -1
    timestamp_ms: int = -1


_NOWHERE: Final[Any] = _Nowhere()
