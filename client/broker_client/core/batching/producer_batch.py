"""Records of one partition on their way to one log append. Mirrors ProducerBatch and MemoryRecordsBuilder's part in it.

A batch belongs to its partition's queue, under whose lock callers append. Once drained it belongs to the Sender. Its
states are in batch_states.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_client.core.batching.batch_states import BATCH_STATES, BatchState, BatchStep
from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
from broker_client.core.producer.produce_request_result import ProduceRequestResult
from broker_client.errors import IllegalState, ProducerError, RecordTooLarge
from broker_client.records import NO_OFFSET, NO_TIMESTAMP, Headers, TopicPartition
from protocol_specs.records.batch_builder import (
    MAX_RECORD_OVERHEAD,
    RecordBatchBuilder,
    encode_record_body,
    estimate_size_in_bytes_upper_bound,
)
from protocol_specs.records.batch_peek import MAGIC_V2, NO_SEQUENCE, RECORD_BATCH_OVERHEAD, increment_sequence
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import read_records, with_producer_state
from protocol_specs.records.varints import size_of_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
    from protocol_specs.records.record_reader import Record

__all__ = [
    "COMPRESSION_RATE_ESTIMATION_FACTOR",
    "NO_PRODUCER_ID_AND_EPOCH",
    "Compression",
    "ProducerBatch",
    "ProducerIdAndEpoch",
]

COMPRESSION_RATE_ESTIMATION_FACTOR: Final = 1.05
# Each of key and value carries a length of up to 5 bytes, and the headers their count.
_LENGTHS_MAX: Final = MAX_RECORD_OVERHEAD + 5 + 5 + 1
_NO_EPOCH: Final = -1
# Reading a member of an Enum takes several times as long as reading a global, and these run for every record.
_OPEN: Final = BatchState.OPEN
# A future is made for every record, and what a named tuple's own constructor does beyond this takes as long again.
_new_tuple: Final = tuple.__new__


@dataclass(slots=True, kw_only=True, frozen=True)
class ProducerIdAndEpoch:
    """The identity that InitProducerId assigned. Mirrors ProducerIdAndEpoch."""

    producer_id: int
    epoch: int

    @property
    def is_valid(self) -> bool:
        """True if a broker assigned it."""
        return self.producer_id >= 0


NO_PRODUCER_ID_AND_EPOCH: Final = ProducerIdAndEpoch(producer_id=-1, epoch=-1)


@dataclass(slots=True, kw_only=True, frozen=True)
class Compression:
    """compression.type with its level; None is the codec's own."""

    codec: CompressionCodec = CompressionCodec.NONE
    level: int | None = None


class ProducerBatch:
    """`write_limit_bytes` is the capacity that was granted for it; a split batch has none (`granted_bytes` 0)."""

    __slots__ = (
        "_base_timestamp_ms",
        "_builder",
        "_bytes",
        "_callbacks",
        "_estimator",
        "_growth",
        "_surely_fits_bytes",
        "_timestamp_ms",
        "_write_limit_bytes",
        "attempts",
        "attempts_when_leader_changed",
        "created_ms",
        "drained_ms",
        "estimated_size_in_bytes",
        "granted_bytes",
        "last_append_ms",
        "last_attempt_ms",
        "leader_epoch",
        "magic",
        "max_record_size",
        "maybe_written",
        "number",
        "origin",
        "record_count",
        "result",
        "retry_backoff_ms",
        "sequence_has_been_reset",
        "state",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        number: int,
        compression: Compression,
        estimator: CompressionRatioEstimator,
        write_limit_bytes: int,
        granted_bytes: int,
        now_ms: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.magic = MAGIC_V2
        self.number = number
        self.origin = number  # of a split batch: the number of the batch that its records were in first
        self.granted_bytes = granted_bytes
        self.created_ms = self.last_append_ms = self.last_attempt_ms = now_ms
        self.drained_ms = 0
        self.attempts = 0
        self.attempts_when_leader_changed = 0
        self.leader_epoch = _NO_EPOCH
        self.retry_backoff_ms = 0
        self.maybe_written = False
        """True once an attempt may have written it: it stays so through every retry and in the parts of a split."""
        self.sequence_has_been_reset = False
        """True if the sequence was rewritten since the batch was last sent."""
        self.record_count = 0
        self.max_record_size = 0
        # What the batch takes on the wire: exact without a codec, a careful guess with one until it is built.
        self.estimated_size_in_bytes = RECORD_BATCH_OVERHEAD
        self.result = ProduceRequestResult(topic_partition)
        self.state: BatchState = _OPEN
        self._builder = RecordBatchBuilder(codec=compression.codec, level=compression.level)
        self._estimator = estimator
        self._write_limit_bytes = write_limit_bytes
        ratio = estimator.estimation(topic_partition.topic, compression.codec)
        self._growth = ratio * COMPRESSION_RATE_ESTIMATION_FACTOR if compression.codec else 1.0
        # Up to this uncompressed size no exact look is needed.
        self._surely_fits_bytes = int(write_limit_bytes / max(self._growth, 1.0))
        self._base_timestamp_ms = self._timestamp_ms = NO_TIMESTAMP
        self._callbacks: list[tuple[FutureRecordMetadata, DeliveryCallback]] = []
        self._bytes: bytes | None = None

    # Appending, under the queue's lock

    def try_append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
        now_ms: int,
    ) -> FutureRecordMetadata | None:
        """Add a record if there is room; the first always fits. None means: a new batch, please."""
        if self.state is not _OPEN:
            return None
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        builder = self._builder
        count = self.record_count
        if timestamp_ms == self._timestamp_ms:
            timestamp_ms = self._timestamp_ms  # a million futures keep one number for each millisecond
        else:
            self._timestamp_ms = timestamp_ms
        if not count:
            self._base_timestamp_ms = timestamp_ms
        elif (
            headers or builder.size_in_bytes + key_size + value_size + _LENGTHS_MAX > self._surely_fits_bytes
        ) and not self._has_room_for(timestamp_ms, key, value, headers):
            return None
        size = builder.append(timestamp_ms, key, value, headers)
        if size > self.max_record_size:  # noqa: PLR1730 - it runs for every record, and a call would cost more
            self.max_record_size = size
        self.last_append_ms = now_ms
        size = builder.size_in_bytes
        if self._growth != 1.0:
            size = self._grown(size)
        self.estimated_size_in_bytes = size
        if size >= self._write_limit_bytes:
            self.close_for_record_appends()
        self.record_count = count + 1
        future = _new_tuple(FutureRecordMetadata, (self.result, count, timestamp_ms, key_size, value_size))
        if on_delivery is not None:
            self._callbacks.append((future, on_delivery))
        return future

    def next_frames(self) -> tuple[Mapping[int, tuple[bytes, bytes, int]], int]:
        """As RecordBatchBuilder: what frames records of the last one's timestamp that follow it."""
        return self._builder.next_frames(self._timestamp_ms)

    def room_for(self, size_bytes: int) -> int:
        """How many bytes of records surely fit yet, and are surely not more than `size_bytes` of the estimated size."""
        left_bytes = min(self._write_limit_bytes - self.estimated_size_in_bytes, size_bytes)
        return int(left_bytes / max(self._growth, 1.0)) - _LENGTHS_MAX

    def append_values(self, values: Sequence[bytes]) -> None:
        """Add records of the last timestamp without key and headers: `next_frames` and `room_for` had room."""
        builder = self._builder
        self.max_record_size = max(self.max_record_size, builder.append_values(self._timestamp_ms, values))
        self.record_count += len(values)
        size = builder.size_in_bytes
        self.estimated_size_in_bytes = self._grown(size) if self._growth != 1.0 else size

    def call_back(self, future: FutureRecordMetadata, on_delivery: DeliveryCallback) -> None:
        """Call when the record of that future has ended."""
        self._callbacks.append((future, on_delivery))

    def close_for_record_appends(self) -> None:
        """Accept no more records; without effect once it is closed."""
        if self.state is _OPEN:
            self._advance(BatchStep.CLOSE)

    @property
    def is_full(self) -> bool:
        """True if it accepts no more records."""
        return self.state is not _OPEN

    @property
    def in_flight(self) -> bool:
        """True while a request carries it, even after it has ended."""
        state = self.state
        return (
            state is BatchState.IN_FLIGHT
            or state is BatchState.FAILED_IN_FLIGHT
            or state is BatchState.ABORTED_IN_FLIGHT
        )

    @property
    def in_retry(self) -> bool:
        """True after the first failed attempt."""
        return self.attempts > 0

    @property
    def is_split(self) -> bool:
        """True if it is a part of a batch that was split."""
        return self.origin != self.number

    def pack(self) -> None:
        """A batch that is closed for appends may wait long: keep its bytes, and none of the objects they came in."""
        self._builder.pack()

    # Draining

    @property
    def has_sequence(self) -> bool:
        """True if a producer id and sequence were assigned by an earlier drain."""
        return self._builder.base_sequence != NO_SEQUENCE

    @property
    def base_sequence(self) -> int:
        """The sequence of the first record, -1 when none was assigned."""
        return self._builder.base_sequence

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record."""
        return increment_sequence(self._builder.base_sequence, self.record_count - 1)

    @property
    def producer_id(self) -> int:
        """The producer id it was drained with, -1 without."""
        return self._builder.producer_id

    @property
    def producer_epoch(self) -> int:
        """The epoch it was drained with, -1 without."""
        return self._builder.producer_epoch

    @property
    def is_transactional(self) -> bool:
        """True if it is part of a transaction."""
        return self._builder.is_transactional

    def set_producer_state(
        self, producer: ProducerIdAndEpoch, base_sequence: int, *, is_transactional: bool = False
    ) -> None:
        """Assign id, epoch and sequence; they stay through every retry, or a retry could be written twice."""
        if self._bytes is not None and self.has_sequence:
            raise IllegalState(f"the batch for {self.topic_partition} has its sequence and was built already")
        builder = self._builder
        builder.producer_id = producer.producer_id
        builder.producer_epoch = producer.epoch
        builder.base_sequence = base_sequence
        builder.is_transactional = is_transactional

    def reset_producer_state(self, producer: ProducerIdAndEpoch, base_sequence: int) -> None:
        """Rewrite id, epoch and sequence of a batch that was sent before: the epoch was bumped."""
        builder = self._builder
        builder.producer_id = producer.producer_id
        builder.producer_epoch = producer.epoch
        builder.base_sequence = base_sequence
        self.sequence_has_been_reset = True
        if self._bytes is not None:
            self._bytes = with_producer_state(
                self._bytes,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                base_sequence=base_sequence,
                is_transactional=self.is_transactional,
            )

    def close(self) -> bytes:
        """Compress, seal and return the bytes: the costly part, outside of every lock. Called again after a reset."""
        self.close_for_record_appends()
        self.sequence_has_been_reset = False
        built = self._bytes
        if built is None:
            built = self._bytes = self._builder.build()
            self.estimated_size_in_bytes = len(built)
            if self._builder.codec:
                self._estimator.update(self.topic_partition.topic, self._builder.codec, self.compression_ratio)
        return built

    @property
    def compression_ratio(self) -> float:
        """Bytes of the built batch's records per byte that was appended; its header does not count on either side."""
        built = self._bytes
        if built is None:
            return 1.0
        return (len(built) - RECORD_BATCH_OVERHEAD) / max(self._builder.size_in_bytes - RECORD_BATCH_OVERHEAD, 1)

    def drained(self, now_ms: int) -> None:
        """Record that a request carries it from now on."""
        self.drained_ms = max(self.drained_ms, now_ms)
        self._advance(BatchStep.DRAIN)

    def request_ended(self) -> None:
        """Record that no request carries it any more."""
        self._advance(BatchStep.REQUEST_END)

    # Retrying

    def reenqueued(self, now_ms: int, backoff_ms: int) -> None:
        """Record a failed attempt; the next one may come after `backoff_ms`."""
        self._advance(BatchStep.RETRY)
        self.attempts += 1
        self.last_attempt_ms = max(self.last_append_ms, now_ms)
        self.last_append_ms = max(self.last_append_ms, now_ms)
        self.retry_backoff_ms = backoff_ms

    def waited_ms(self, now_ms: int) -> int:
        """How long since it was made, or since its last attempt ended."""
        return max(0, now_ms - self.last_attempt_ms)

    def update_leader_epoch(self, epoch: int) -> None:
        """Learn the partition's leader epoch: a newer one ends the back-off (KIP-951)."""
        if epoch > self.leader_epoch:
            self.attempts_when_leader_changed = self.attempts
            self.leader_epoch = epoch

    def is_backing_off(self, now_ms: int) -> bool:
        """True if it must wait, after a failed attempt on a leader that has not changed since."""
        return (
            self.attempts > 0
            and self.attempts_when_leader_changed != self.attempts
            and self.waited_ms(now_ms) < self.retry_backoff_ms
        )

    def has_reached_delivery_timeout(self, delivery_timeout_ms: int, now_ms: int) -> bool:
        """True if delivery.timeout.ms has passed since it was made."""
        return delivery_timeout_ms <= now_ms - self.created_ms

    # Ending

    @property
    def is_done(self) -> bool:
        """True if it has ended."""
        state = self.state
        return state is not BatchState.OPEN and state is not BatchState.CLOSED and state is not BatchState.IN_FLIGHT

    def complete(self, base_offset: int, log_append_time_ms: int) -> bool:
        """End it with success, at `base_offset` (-1: the broker does not name it). False if it had failed before.

        Raises:
            IllegalTransition: it had succeeded before, or its request has not ended.
        """
        return self._end(BatchStep.SUCCEED, base_offset, log_append_time_ms, None)

    def fail(self, error_of_record: Callable[[int], ProducerError]) -> bool:
        """End it with failure; `error_of_record` returns each record's error. False if it had failed before.

        Raises:
            IllegalTransition: it had succeeded before.
        """
        return self._end(BatchStep.FAIL, NO_OFFSET, NO_TIMESTAMP, error_of_record)

    def abort(self, error: ProducerError) -> None:
        """End it because the producer is closed or its transaction is aborted.

        Raises:
            IllegalTransition: it had ended before.
        """
        self._end(BatchStep.ABORT, NO_OFFSET, NO_TIMESTAMP, lambda _: error)

    def _end(
        self,
        step: BatchStep,
        base_offset: int,
        log_append_time_ms: int,
        error_of_record: Callable[[int], ProducerError] | None,
    ) -> bool:
        had_ended = self.is_done
        self._advance(step)
        if had_ended:
            return False
        result = self.result
        result.set(base_offset, log_append_time_ms, error_of_record)
        for future, callback in self._callbacks:
            future.deliver(callback)
        self._callbacks.clear()
        result.complete()
        return True

    def _advance(self, step: BatchStep) -> None:
        self.state = BATCH_STATES.next(self.state, step)

    # Splitting

    @property
    def can_split(self) -> bool:
        """True if parts of it may be taken where the whole is too large."""
        return self.record_count > 1 and not self.is_done

    def split(self, split_batch_size: int, next_number: Callable[[], int]) -> list[ProducerBatch]:
        """Cut into batches of at most `split_batch_size`, made at the same time, with sequences in a row."""
        parts: list[ProducerBatch] = []
        # Bounds of sizes are generous: only fewer records make sure that splitting what was split comes to an end.
        records_max = self.record_count // 2 if self.is_split else self.record_count
        callbacks = {future.batch_index: callback for future, callback in self._callbacks}
        for index, record in enumerate(self._records()):
            sent = record.timestamp, record.key, record.value, record.headers, callbacks.get(index), self.created_ms
            if not parts or parts[-1].record_count >= records_max or parts[-1].try_append(*sent) is None:
                bound = estimate_size_in_bytes_upper_bound(record.key, record.value, record.headers)
                part = self._part(next_number(), max(bound, split_batch_size))
                part.origin = self.origin
                parts.append(part)
                part.try_append(*sent)
        self._callbacks.clear()
        self.result.move([(part.result, part.record_count, 0) for part in parts])
        self.fail(lambda _: RecordTooLarge(self.max_record_size, split_batch_size, "batch.size"))
        producer = ProducerIdAndEpoch(producer_id=self.producer_id, epoch=self.producer_epoch)
        sequence = self.base_sequence
        for part in parts:
            part.close_for_record_appends()
            part.maybe_written = self.maybe_written
            if self.has_sequence:
                part.set_producer_state(producer, sequence, is_transactional=self.is_transactional)
                sequence = increment_sequence(sequence, part.record_count)
        return parts

    def _records(self) -> list[Record]:
        return read_records(self.close())

    def _part(self, number: int, write_limit_bytes: int) -> ProducerBatch:
        return ProducerBatch(
            self.topic_partition,
            number=number,
            compression=Compression(codec=self._builder.codec, level=self._builder.level),
            estimator=self._estimator,
            write_limit_bytes=write_limit_bytes,
            granted_bytes=0,
            now_ms=self.created_ms,
        )

    def _grown(self, size: int) -> int:
        """The likely size of so many bytes after compression."""
        return RECORD_BATCH_OVERHEAD + int((size - RECORD_BATCH_OVERHEAD) * self._growth)

    def _has_room_for(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers) -> bool:
        """Exactly, with the record uncompressed: Kafka's batches end at the same record."""
        delta = timestamp_ms - self._base_timestamp_ms
        body = len(encode_record_body(delta, self.record_count, key, value, headers))
        return self._write_limit_bytes >= self.estimated_size_in_bytes + size_of_varint(body) + body

    def __repr__(self) -> str:
        return f"ProducerBatch({self.topic_partition}, records={self.record_count}, {self.state.name})"
