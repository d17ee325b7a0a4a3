"""The sends of foreign producers as brokers see them: a ledger filled from Produce requests and their responses.

A record that a client sends again is the same send: with a producer id, the record of the same epoch and sequence;
without, one with equal contents and timestamp whose earlier request has failed or lost its connection. A send is
acknowledged when a broker has written the response.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_scenarios.history import EventType
from broker_scenarios.ledger.book import LedgerBook
from broker_sim.control.events import ProduceCompleted, TransactionStateChanged
from broker_sim.faults.interception import Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import REFUSED_BEFORE_APPEND, ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.messages.produce import ProduceResponse
from protocol_specs.records.batch_peek import BatchHeader
from protocol_specs.records.record_set import iterate_any, read_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_scenarios.ledger.book import SentRecord, Transaction
    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.faults.interception import FaultPoint
    from protocol_specs.message import Message
    from protocol_specs.records.record_reader import Record
    from protocol_specs.records.record_set import AnyHeader

__all__ = ["WireBook"]

_ENDS: Final[Mapping[str, EventType]] = {
    "PrepareCommit": EventType.OK,
    "CompleteCommit": EventType.OK,
    "PrepareAbort": EventType.FAIL,
    "CompleteAbort": EventType.FAIL,
}
_Identity: TypeAlias = tuple[object, ...]
_Part: TypeAlias = tuple[int, int, str, int]
"""Broker, request, topic and partition."""


@dataclass(slots=True, eq=False)
class _Attempt:
    """A send, and the last request that had it."""

    send: SentRecord
    identity: _Identity
    connection_id: str
    failed: str | None = None
    """The error of the last request; None while it has none."""
    has_sequence: bool = False
    maybe_stored: bool = False
    done: bool = False


@dataclass(slots=True, eq=False)
class _Request:
    """The records of one partition in a request."""

    attempts: list[_Attempt] = field(default_factory=list)
    refusal: ErrorCode | None = None
    """The error of the broker itself, if it has decided."""


class WireBook:
    """Follows the producers of a cluster from now on; on the reactor's thread."""

    def __init__(self, cluster: Cluster, topics: Iterable[str]) -> None:
        self.book = LedgerBook(topics, cluster.journal.now_us)
        self.weakest_acks = -1
        """The weakest acks of a request: 0, 1, or -1 for all."""
        self.all_idempotent = True
        self.refused: Counter[str] = Counter()
        """How many batches brokers have refused, by the name of the error."""
        self.injected: Counter[str] = Counter()
        """How many batches had an error that a rule put into the response, by its name."""
        self._names: dict[bytes, str] = {}
        """The topics by the ids that new versions of Produce have."""
        self._requests: dict[_Part, _Request] = {}
        self._open: dict[_Identity, list[_Attempt]] = {}
        self._transactions: dict[tuple[int, int], Transaction] = {}
        cluster.faults.observe(Phase.BEFORE_PARSE, self._received)
        cluster.faults.observe_responses(self._responded)
        cluster.journal.subscribe(self._happened)

    def close(self) -> None:
        """End the sends that have no acknowledgement: failed if no broker can have stored them, else unknown."""
        for attempt in [each for attempts in self._open.values() for each in attempts]:
            if not attempt.done and attempt.send.transaction is None:
                certain = attempt.failed is not None and not attempt.maybe_stored
                error = attempt.failed or "no response was written"
                self.book.complete(attempt.send, EventType.FAIL if certain else EventType.INFO, error=error)
        for transaction in self._transactions.values():
            self.book.end(transaction, EventType.INFO, "no end of the transaction was requested")

    # Requests

    def _received(self, point: FaultPoint) -> None:
        if point.api_key is not ApiKey.PRODUCE or point.replica_id >= 0:
            return
        request: Any = point.message()
        if request is None:
            return
        if request.acks >= 0:
            self.weakest_acks = request.acks if self.weakest_acks < 0 else min(request.acks, self.weakest_acks)
        parts = ((topic, part) for topic in request.topic_data for part in topic.partition_data)
        for (topic, partition), (data, part) in zip(point.places(), parts, strict=False):
            if partition is not None and topic in self.book.topics:
                self._names[data.topic_id] = topic
                self._read(point, topic, partition, part.records or b"")

    def _read(self, point: FaultPoint, topic: str, partition: int, records: bytes) -> None:
        one = self._requests[point.broker_id, point.request_id, topic, partition] = _Request()
        try:
            for header, data in iterate_any(records):
                for place, record in enumerate(read_any(data)):
                    one.attempts.append(self._attempt(point, topic, partition, header, record, place))
        except ProtocolError:
            return  # bytes that the broker refuses

    def _attempt(
        self, point: FaultPoint, topic: str, partition: int, header: AnyHeader, record: Record, place: int
    ) -> _Attempt:
        client, connection_id = point.client_id or "", point.connection_id or ""
        sequence = header if isinstance(header, BatchHeader) and header.base_sequence >= 0 else None
        identity: _Identity
        if sequence is None:
            self.all_idempotent = False
            identity = (client, topic, partition, record.key, record.value, record.headers, record.timestamp)
        else:
            producer = sequence.producer_id, sequence.producer_epoch
            identity = (*producer, topic, partition, sequence.base_sequence + place)
        attempts = self._open.setdefault(identity, [])
        for attempt in attempts:
            lost = attempt.failed is not None or attempt.connection_id != connection_id
            if sequence is not None or lost:
                attempt.connection_id, attempt.failed = connection_id, None
                return attempt
        transaction = None
        if sequence is not None and sequence.is_transactional:
            owner = sequence.producer_id, sequence.producer_epoch
            transaction = self._transactions.get(owner) or self._transactions.setdefault(owner, self.book.begin(client))
        send = self.book.send(client, topic, (record.key, record.value), partition, transaction)
        attempt = _Attempt(send, identity, connection_id, has_sequence=sequence is not None)
        attempts.append(attempt)
        return attempt

    # Events

    def _happened(self, event: Event) -> None:
        kind = type(event)
        if kind is ProduceCompleted:
            self._completed(event)  # type: ignore[arg-type]  # by its type
        elif kind is TransactionStateChanged:
            self._moved(event)  # type: ignore[arg-type]  # by its type

    def _completed(self, event: ProduceCompleted) -> None:
        part = event.broker_id, event.request_id, event.topic, event.partition
        one = self._requests.get(part)
        if one is None:
            return
        one.refusal = ErrorCode.for_code(event.error_code)
        if one.refusal is not ErrorCode.NONE:
            self.refused[one.refusal.name] += 1
        if event.acks == 0:
            del self._requests[part]
            self._end(one, one.refusal, event.base_offset)

    def _responded(self, point: FaultPoint, response: Message) -> None:
        """End the requests that the client has the response of: it believes that, not what the broker has decided."""
        if not isinstance(response, ProduceResponse):
            return
        for topic in response.responses:
            name = topic.name or self._names.get(topic.topic_id, "")
            for part in topic.partition_responses:
                one = self._requests.pop((point.broker_id, point.request_id, name, part.index), None)
                if one is not None:
                    self._end(one, ErrorCode.for_code(part.error_code), part.base_offset)

    def _end(self, one: _Request, error: ErrorCode, base_offset: int) -> None:
        is_injected = error not in (ErrorCode.NONE, one.refusal)
        if is_injected:
            self.injected[error.name] += 1
        for place, attempt in enumerate(one.attempts):
            if attempt.done:
                continue
            if error is not ErrorCode.NONE:
                attempt.failed = f"{error.name}, injected by a rule" if is_injected else error.name
                attempt.maybe_stored |= error not in REFUSED_BEFORE_APPEND
                continue
            attempt.done = True
            if not attempt.has_sequence:
                # Equal contents from now on are another send.
                self._open[attempt.identity].remove(attempt)
            offset = base_offset + place if base_offset >= 0 else None
            if attempt.send.transaction is None:
                self.book.complete(attempt.send, EventType.OK, attempt.send.partition, offset)
            elif offset is not None:
                attempt.send.offset = offset

    def _moved(self, event: TransactionStateChanged) -> None:
        end = _ENDS.get(event.state)
        transaction = None if end is None else self._transactions.pop((event.producer_id, event.producer_epoch), None)
        if transaction is not None and end is not None:
            self.book.end(transaction, end, event.reason or None)
