"""The form of a measure, and the facts of a run that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.history import EventType
from broker_sim.control.events import RequestReceived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.measures.broker_metrics import MetricSample
    from broker_scenarios.playing.run_history import Operation
    from broker_scenarios.truth import Truth
    from broker_sim.control.events import Event

__all__ = ["SELECT_KEYS", "Measure", "RunFacts", "SentValue", "most_in_a_second"]

SELECT_KEYS: Final[Mapping[str, str]] = {
    "api": "the API of the requests, such as Produce",
    "client": "the client.id of the sender, or a pattern",
    "broker": "the broker that received it",
    "topic": "the topic of the records",
    "partition": "the partition of the records",
    "call": "the call, such as close, poll or commit",
    "error": "the error, by its name",
    "metric": "the name of the metric",
    "from_ms": "from this time of the run on, in milliseconds",
}
SECOND_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SentValue:
    """One send of a client with its end; `completed_us` is -1 while it is open."""

    client: str
    topic: str
    partition: int
    value_id: int
    size_bytes: int
    invoked_us: int
    completed_us: int
    is_ok: bool
    error_code: int


@dataclass(kw_only=True)
class RunFacts:
    """The facts of one run. `clients` has the client.id of each process."""

    journal: Sequence[Event]
    history: Sequence[HistoryEvent]
    truth: Truth
    clients: Mapping[int, str]
    read_lags: Callable[[], Iterable[tuple[str, str, int]]] = tuple
    """Returns the lag of each poll in each of its partitions: client.id, partition (`orders-0`) and microseconds."""
    operations: Sequence[Operation] = ()
    """The calls of the clients beside sends."""
    metrics: Sequence[MetricSample] = ()
    """What was read of the brokers' metrics."""
    begin_us: int = field(init=False)

    def __post_init__(self) -> None:
        self.begin_us = min((event.time_us for event in self.history), default=0)

    def requests(self, select: Mapping[str, Any]) -> Iterator[RequestReceived]:
        """The requests of clients that fit, in order."""
        from_us = self.begin_us + round(select.get("from_ms", 0) * 1000) if "from_ms" in select else 0
        for event in self.journal:
            if (
                type(event) is RequestReceived
                and event.replica_id < 0
                and event.time_us >= from_us
                and ("api" not in select or event.api == select["api"])
                and ("broker" not in select or event.broker_id == select["broker"])
                and ("client" not in select or fnmatchcase(event.client_id or "", select["client"]))
            ):
                yield event

    def request_ids(self, select: Mapping[str, Any]) -> set[tuple[int, int]]:
        """The broker and the number of each of them: each broker numbers its own."""
        return {(event.broker_id, event.request_id) for event in self.requests(select)}

    @cached_property
    def sends(self) -> list[SentValue]:
        """Every send, in the order of the invocations."""
        ends: dict[tuple[int, int], HistoryEvent] = {}
        for event in self.history:
            if event.type != EventType.INVOKE:
                ends.setdefault((event.process, event.index), event)
        partitions = {event.value_id: event.partition for event in self.history if event.partition >= 0}
        found: list[SentValue] = []
        for event in self.history:
            if event.type == EventType.INVOKE:
                end = ends.get((event.process, event.index))
                found.append(
                    SentValue(
                        client=self.clients.get(event.process, ""),
                        topic=event.topic,
                        partition=partitions.get(event.value_id, -1),
                        value_id=event.value_id,
                        size_bytes=event.size_bytes,
                        invoked_us=event.time_us,
                        completed_us=-1 if end is None else end.time_us,
                        is_ok=end is not None and end.type == EventType.OK,
                        error_code=0 if end is None else end.error_code,
                    )
                )
        return found

    def sends_of(self, select: Mapping[str, Any]) -> Iterator[SentValue]:
        """The sends that fit."""
        from_us = self.begin_us + round(select.get("from_ms", 0) * 1000)
        for send in self.sends:
            if (
                ("client" not in select or fnmatchcase(send.client, select["client"]))
                and ("topic" not in select or send.topic == select["topic"])
                and ("partition" not in select or send.partition == select["partition"])
                and send.invoked_us >= from_us
            ):
                yield send

    @cached_property
    def history_end_us(self) -> int:
        """The time of the last send or outcome."""
        return max([event.time_us for event in self.history], default=0)

    @property
    def end_us(self) -> int:
        """The time of the last event."""
        return max(
            [event.time_us for event in self.history] + [event.time_us for event in self.journal[-1:]], default=0
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure: a number from the facts of a run and what the file selects."""

    name: str
    meaning: str
    keys: tuple[str, ...]
    """The keys by which it selects."""
    required: tuple[str, ...] = ()
    """Those of them that must be there."""
    of: Callable[[RunFacts, Mapping[str, Any]], float]


def most_in_a_second(times_us: Iterable[int]) -> int:
    """The most moments within any second."""
    window: list[int] = []
    most = begin = 0
    for time_us in times_us:
        window.append(time_us)
        while time_us - window[begin] >= SECOND_US:
            begin += 1
        most = max(most, len(window) - begin)
    return most
