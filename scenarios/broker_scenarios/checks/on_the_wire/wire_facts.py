"""The facts of a run about its clients' requests: each batch as it was sent, the results, the responses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_scenarios.findings import Finding
from broker_scenarios.workloads.values import value_id_of
from broker_sim.control.events import ProduceCompleted, RequestReceived, ResponseSent
from broker_sim.faults.interception import Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import ProtocolError
from protocol_specs.records.batch_peek import iterate_batches
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.findings import FindingKind
    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.playing.run_history import Operation
    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.faults.engine import FaultEngine
    from broker_sim.faults.interception import FaultPoint

__all__ = [
    "CallInCallback",
    "Origin",
    "Pool",
    "SentBatch",
    "WireFacts",
    "WireWatch",
    "finding_of",
    "finding_of_request",
    "sent_batches",
]


class Origin(NamedTuple):
    """When and where a broker has received a request."""

    at_us: int
    client_id: str
    connection_id: str
    broker_id: int
    request_id: int


class SentBatch(NamedTuple):
    """A batch in a Produce request that a broker has received; without a producer its ids are -1."""

    at_us: int
    client_id: str
    connection_id: str
    broker_id: int
    request_id: int
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int
    checksum: int
    acks: int
    values: tuple[int, ...]

    @property
    def request(self) -> tuple[int, int]:
        """The broker and the number of the request."""
        return self.broker_id, self.request_id

    @property
    def place(self) -> tuple[str, int]:
        """The topic and the partition."""
        return self.topic, self.partition


class Pool(NamedTuple):
    """The memory of a producer at the end of its process."""

    process: int
    client_id: str
    available_bytes: int
    total_bytes: int


@dataclass(slots=True, kw_only=True)
class CallInCallback:
    """A call of the producer that began in a delivery callback."""

    client_id: str
    what: str
    begun_us: int
    returned: bool = False


class WireWatch:
    """Reads the Produce requests of clients as brokers receive them; the requests go on unchanged."""

    def __init__(self, faults: FaultEngine, journal: Journal) -> None:
        self.batches: list[SentBatch] = []
        self._journal = journal
        faults.observe(Phase.BEFORE_PARSE, self._received)

    def _received(self, point: FaultPoint) -> None:
        if point.api_key is not ApiKey.PRODUCE or point.replica_id >= 0:
            return
        request: Any = point.message()
        if request is None:
            return
        origin = Origin(
            self._journal.now_us(),
            point.client_id or "",
            point.connection_id or "",
            point.broker_id,
            point.request_id,
        )
        parts = (part for topic in request.topic_data for part in topic.partition_data)
        for (topic, partition), part in zip(point.places(), parts, strict=False):
            if partition is not None:
                self.batches += sent_batches(origin, topic, partition, request.acks, part.records or b"")


def sent_batches(origin: Origin, topic: str, partition: int, acks: int, records: bytes) -> list[SentBatch]:
    """Return the batches of one partition of a Produce request, up to the first that cannot be read."""
    found: list[SentBatch] = []
    try:
        for header, data in iterate_batches(records):
            found.append(
                SentBatch(
                    *origin,
                    topic,
                    partition,
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.records_count,
                    header.crc,
                    acks,
                    tuple(value_id_of(record.value) for record in read_any(data)),
                )
            )
    except ProtocolError:
        pass  # an old message format, or bytes that the broker refuses: no batch that a check could name
    return found


@dataclass(kw_only=True)
class WireFacts:
    """The input of the checks. `configs` has the producer configurations of each client.id."""

    batches: Sequence[SentBatch]
    journal: Sequence[Event]
    history: Sequence[HistoryEvent]
    operations: Sequence[Operation]
    clients: Mapping[int, str]
    """The client.id of each process."""
    configs: Mapping[str, Mapping[str, str]]
    pools: Sequence[Pool] = ()
    callbacks: Sequence[CallInCallback] = ()
    release: str | None = None
    """The release of the brokers; None if it is not known."""
    responds_before_throttling: bool = True
    """Brokers respond at once and read nothing more for the throttle time (since 2.0, KIP-219)."""

    @cached_property
    def results(self) -> dict[tuple[int, int, str, int], ProduceCompleted]:
        """The result of each partition of a Produce, by broker, request, topic and partition."""
        return {
            (event.broker_id, event.request_id, event.topic, event.partition): event
            for event in self.journal
            if type(event) is ProduceCompleted
        }

    @cached_property
    def responses(self) -> dict[tuple[int, int], ResponseSent]:
        """The response to each request, by broker and request: each broker numbers its own."""
        return {(event.broker_id, event.request_id): event for event in self.journal if type(event) is ResponseSent}

    @cached_property
    def requests(self) -> list[RequestReceived]:
        """The requests of clients, in order."""
        return [event for event in self.journal if type(event) is RequestReceived and event.replica_id < 0]

    def error_of(self, batch: SentBatch) -> int | None:
        """Return the error code that the broker gave a batch; None if it gave no result."""
        result = self.results.get((*batch.request, batch.topic, batch.partition))
        return None if result is None else result.error_code


def finding_of_request(kind: FindingKind, request: RequestReceived, detail: str) -> Finding:
    """A finding about a request, or the last one of several."""
    return Finding(
        kind=kind,
        topic="",
        partition=-1,
        value_id=-1,
        detail=f"request {request.request_id} ({request.api} v{request.api_version}) of {request.client_id} to broker "
        f"{request.broker_id}, {detail}",
        complete_us=request.time_us,
    )


def finding_of(kind: FindingKind, batch: SentBatch, detail: str) -> Finding:
    """A finding about a batch."""
    return Finding(
        kind=kind,
        topic=batch.topic,
        partition=batch.partition,
        value_id=batch.values[0] if batch.values else -1,
        values=batch.values,
        producer_id=batch.producer_id,
        detail=f"request {batch.request_id} of {batch.client_id} to broker {batch.broker_id}, {detail}",
        complete_us=batch.at_us,
    )
