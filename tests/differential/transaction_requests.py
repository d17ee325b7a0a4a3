"""Requests of transactional producers, and what cases write down about transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.json_form import to_json
from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
    RequestAddPartitionsToTxnTopic,
)
from protocol_specs.messages.describe_transactions import DescribeTransactionsRequest
from protocol_specs.messages.end_txn import EndTxnRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.list_transactions import ListTransactionsRequest
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol_specs.schemas.record_serde import Log, decode_key, decode_value
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.group_records import records_of
from tests.differential.probe import attempts
from tests.differential.requests import fetch, idempotent, list_offsets, produce, wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.differential.probe import Connection, Probe

STATE_TOPIC: Final = "__transaction_state"
INIT_VERSION: Final = 4
BUSY: Final = 51
LOADING: Final = (14, 15, 16)


class Transactions:
    """One transactional id of a case: its requests with its present producer, and what became of them."""

    def __init__(self, probe: Probe, suffix: str = "t") -> None:
        self.probe = probe
        self.id = f"{probe.name}-{suffix}"
        self.producer_id = -1
        self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}
        self._suffix = suffix

    # Requests.

    def init(self, timeout_ms: int = 60_000, *, given: tuple[int, int] = (-1, -1)) -> InitProducerIdRequest:
        """An InitProducerId."""
        return InitProducerIdRequest(
            transactional_id=self.id, transaction_timeout_ms=timeout_ms, producer_id=given[0], producer_epoch=given[1]
        )

    def add(self, *partitions: tuple[str, int], **fields: Any) -> AddPartitionsToTxnRequest:
        """An AddPartitionsToTxn of a producer."""
        usual = {
            "v3_and_below_transactional_id": self.id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
        }
        topics = [
            RequestAddPartitionsToTxnTopic(name=topic, partitions=indexes)
            for topic, indexes in by_topic(partitions).items()
        ]
        return AddPartitionsToTxnRequest(**(usual | fields), v3_and_below_topics=topics)

    def verify(self, *partitions: tuple[str, int], **fields: Any) -> AddPartitionsToTxnTransaction:
        """One transaction of a broker's AddPartitionsToTxn."""
        usual = {
            "transactional_id": self.id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "verify_only": True,
        }
        topics = [
            AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()
        ]
        return AddPartitionsToTxnTransaction(**(usual | fields), topics=topics)

    def add_offsets(self, group: str, **fields: Any) -> AddOffsetsToTxnRequest:
        """An AddOffsetsToTxn."""
        return AddOffsetsToTxnRequest(**(self._named() | {"group_id": group} | fields))

    def end(self, *, commit: bool, **fields: Any) -> EndTxnRequest:
        """An EndTxn."""
        return EndTxnRequest(**(self._named() | {"committed": commit} | fields))

    def _named(self) -> dict[str, Any]:
        return {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch}

    def records(self, topic: str, partition: int = 0, *values: bytes) -> bytes:
        """The next batch of the transaction."""
        sequence = self.sequences.get((topic, partition), 0)
        self.sequences[topic, partition] = sequence + max(1, len(values))
        return idempotent(self.producer_id, self.epoch, sequence, *values, is_transactional=True)

    # Steps.

    def begin(self, timeout_ms: int = 60_000) -> None:
        """Initialize without writing it down: wait until the coordinator is there."""
        await_transactions(self.probe)
        self.take(self._until_served(timeout_ms))

    def take(self, response: Any) -> None:
        """Go on as the producer of a response."""
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self.probe.normaliser.know_producer(self.producer_id, self._suffix)
        self.sequences.clear()

    def _until_served(self, timeout_ms: int) -> Any:
        for _ in attempts(f"the producer of {self.id}"):
            response: Any = self.probe.quiet(self.init(timeout_ms), INIT_VERSION)
            if response.error_code not in (BUSY, *LOADING):
                break
        return response

    def started(self, *partitions: tuple[str, int], timeout_ms: int = 60_000) -> None:
        """Initialize, add partitions and write a batch to each, without writing it down."""
        self.begin(timeout_ms)
        self.open(*partitions)

    def open(self, *partitions: tuple[str, int]) -> None:
        """Add partitions and write a batch to each, without writing it down."""
        for _ in attempts(f"a new transaction of {self.id}"):
            response: Any = self.probe.quiet(self.add(*partitions), 3)
            errors = {
                result.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for result in topic.results_by_partition
            }
            if errors == {0}:
                break
            assert errors == {BUSY}, errors
        for topic, partition in partitions:
            self.write(topic, partition)

    def write(self, topic: str, partition: int = 0) -> None:
        """Write a batch, without writing it down."""
        request = produce(topic, self.records(topic, partition), partition=partition, transactional_id=self.id)
        response: Any = self.probe.quiet(request, 9)
        assert response.responses[0].partition_responses[0].error_code == 0, response

    def ended(self, *, commit: bool, version: int = 3) -> None:
        """End the transaction and wait for its markers, without writing it down."""
        response: Any = self.probe.quiet(self.end(commit=commit), version)
        assert response.error_code == 0, response
        self.await_state("CompleteCommit" if commit else "CompleteAbort")
        if version >= 5:
            self.take(response)

    def await_state(self, *states: str) -> None:
        """Wait until the coordinator has the transaction in one of these states."""
        for _ in attempts(f"{self.id} in {states}"):
            response: Any = self.probe.quiet(describe(self.id), 0)
            if response.transaction_states[0].transaction_state in states:
                break

    def describe(self, note: str = "", *, on: Connection | None = None) -> None:
        """Write down the state of the id."""
        self.probe.exchange(describe(self.id), 0, note=note, on=on)

    def write_log(self, note: str = "") -> None:
        """Write down the records of the id."""
        shown = []
        for key, value in records_of(self.probe, STATE_TOPIC, self.id):
            assert decode_key(Log.TRANSACTION_STATE, key) is not None
            if value is None:
                shown.append("<tombstone>")
                continue
            body, version = decode_value(Log.TRANSACTION_STATE, 0, value)
            shown.append({"version": version, "bytes": len(value), "value": to_json(body, version)})
        response = self.probe.normaliser.normalise(shown, ordered=True)
        self.probe.write(note=f"records of {STATE_TOPIC}{', ' + note if note else ''}", response=response)


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return the partitions of each topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def batched(*transactions: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnRequest:
    """A broker's AddPartitionsToTxn."""
    return AddPartitionsToTxnRequest(transactions=list(transactions))


def describe(*transactional_ids: str) -> DescribeTransactionsRequest:
    """A DescribeTransactions."""
    return DescribeTransactionsRequest(transactional_ids=list(transactional_ids))


def list_own(probe: Probe, version: int = 0, note: str = "", *, on: Connection | None = None, **fields: Any) -> None:
    """Write down the transactions of the case that pass the filters of a ListTransactions, by their ids."""

    def own(response: Any) -> Any:
        found = [each for each in response["transactionStates"] if each["transactionalId"].startswith(f"{probe.name}-")]
        return response | {"transactionStates": sorted(found, key=lambda each: str(each["transactionalId"]))}

    probe.exchange(ListTransactionsRequest(**fields), version, on=on, note=note, only=own)


def markers(*entries: tuple[int, int, bool, Mapping[str, list[int]], int], version: int = 0) -> WriteTxnMarkersRequest:
    """A WriteTxnMarkers: producer id, epoch, True for a commit, partitions by topic, coordinator epoch."""
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer_id,
                producer_epoch=epoch,
                transaction_result=commit,
                coordinator_epoch=coordinator_epoch,
                transaction_version=version,
                topics=[
                    WritableTxnMarkerTopic(name=topic, partition_indexes=indexes) for topic, indexes in topics.items()
                ],
            )
            for producer_id, epoch, commit, topics, coordinator_epoch in entries
        ]
    )


def read(
    probe: Probe, topic: str, offset: int = 0, *, committed: bool = True, version: int = 12, note: str = ""
) -> None:
    """Write down what a consumer of an isolation level reads from a partition."""
    level = int(committed)
    isolated = f"{'committed' if committed else 'uncommitted'} from {offset}{', ' + note if note else ''}"
    probe.exchange(fetch(topic, wanted(offset), isolation_level=level), version, note=isolated)


def list_stable(probe: Probe, topic: str, *timestamps: int, version: int = 5, note: str = "") -> None:
    """Write down the offsets that a read_committed consumer finds."""
    for timestamp in timestamps:
        probe.exchange(
            list_offsets(topic, timestamp, isolation_level=1), version, note=f"committed {timestamp}{', ' + note}"
        )


def of_every_state(probe: Probe) -> tuple[Transactions, Transactions, Transactions, Transactions]:
    """Return an id without a transaction, one with an open, a committed and an aborted one."""
    topic, other = probe.topic(partitions=9), probe.topic("u", partitions=3)
    found = tuple(Transactions(probe, suffix) for suffix in ("empty", "open", "done", "gone"))
    empty, opened, committed, aborted = found
    empty.begin()
    partitions = [(topic, index) for index in (3, 1, 8, 0)] + [(other, 2), (other, 1)]
    opened.started(*partitions)
    for each in (committed, aborted):
        each.started((topic, 2))
        each.ended(commit=each is committed)
    return empty, opened, committed, aborted
