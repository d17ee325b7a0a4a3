"""Validates the record sets of a Produce request before the append. Mirrors ProduceRequest.validateRecords.

Only the batch headers of a record set are read. Some errors belong to one partition. Others refuse the whole request,
because Kafka finds them while it reads all partitions (RequestUtils.hasTransactionalRecords, and since 4.0 the search
for producer ids in ReplicaManager.handleProduceAppend).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.metadata.topic_names import (
    GROUP_METADATA_TOPIC_NAME,
    SHARE_GROUP_STATE_TOPIC_NAME,
    TRANSACTION_STATE_TOPIC_NAME,
)
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from protocol_specs.messages.produce import ProduceRequest

__all__ = [
    "INTERNAL_TOPICS",
    "TOPIC_IDS_LOWEST",
    "VALID_ACKS",
    "RequestRefused",
    "TransactionalBatch",
    "has_idempotent_records",
    "has_transactional_records",
    "is_plain_batch",
    "is_unreadable",
    "partition_error",
    "producer_ids_readable",
    "producer_of",
    "transactional_batch",
    "whole_request_error",
]

INTERNAL_TOPICS: Final = frozenset(
    {GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME, SHARE_GROUP_STATE_TOPIC_NAME}
)
TOPIC_IDS_LOWEST: Final = 13
VALID_ACKS: Final = (-1, 0, 1)
LOG_OVERHEAD: Final = 12
"""Bytes of the offset and size fields, which the size does not count."""
HEADER_SIZE_UP_TO_MAGIC: Final = 17
RECORD_OVERHEAD_V0: Final = 14
RECORD_BATCH_OVERHEAD: Final = 61
END_OF_PRODUCER_ID: Final = 51
END_OF_SEQUENCE: Final = 57
NO_PRODUCER_ID: Final = -1
MAGIC_V2: Final = 2
INT32_MAX: Final = 2**31 - 1
ZSTD: Final = 4
CODEC_MASK: Final = 0x07
TRANSACTIONAL: Final = 0x10
TRANSACTIONAL_ZSTD_OR_BEYOND: Final = TRANSACTIONAL | ZSTD
"""Matches zstd and all higher codecs: zstd's number, the highest one, is a single bit."""
ZSTD_LOWEST_PRODUCE: Final = 7
BATCHES_LOWEST_PRODUCE: Final = 3

SIZE_MAGIC_ATTRIBUTES: Final = struct.Struct(">i4xb4xh")
_SIZE: Final = struct.Struct(">i")
_PRODUCER: Final = struct.Struct(">qhi")
"""Producer id, epoch and base sequence."""


TransactionalBatch = tuple[ProducerIdAndEpoch, int]
"""The producer of a batch and its first sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused:
    """The error that refuses a whole request; `message` is the error text of the response."""

    error_code: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    size: int
    magic: int
    attributes: int

    @property
    def is_transactional(self) -> bool:
        """True if its records belong to a transaction; older formats know none."""
        return self.magic == MAGIC_V2 and bool(self.attributes & TRANSACTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Corrupt:
    message: str | None
    error_code: ErrorCode = ErrorCode.CORRUPT_MESSAGE


def is_plain_batch(records: memoryview | bytes | None) -> bool:
    """True for a single v2 batch, neither transactional nor zstd or beyond: it passes every check of this module."""
    if records is None:
        return False
    length = len(records)
    if length < RECORD_BATCH_OVERHEAD:
        return False
    size: int
    magic: int
    attributes: int
    size, magic, attributes = SIZE_MAGIC_ATTRIBUTES.unpack_from(records, 8)
    return size + LOG_OVERHEAD == length and magic == MAGIC_V2 and not attributes & TRANSACTIONAL_ZSTD_OR_BEYOND


def partition_error(records: memoryview | bytes | None, version: int) -> ErrorCode:
    """Return the error of one partition's record set. Null passes: it fails later, or never gets a response.

    UNKNOWN_SERVER_ERROR refuses the whole request: the check for zstd fails in Kafka on a codec that it does not know.
    """
    if records is None or version < BATCHES_LOWEST_PRODUCE:
        return ErrorCode.NONE
    first = _batch_at(records, 0)
    if isinstance(first, _Corrupt):
        return ErrorCode.CORRUPT_MESSAGE
    if first is None or first.magic != MAGIC_V2:
        return ErrorCode.INVALID_RECORD
    if version < ZSTD_LOWEST_PRODUCE and first.attributes & CODEC_MASK >= ZSTD:
        known = first.attributes & CODEC_MASK == ZSTD
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if known else ErrorCode.UNKNOWN_SERVER_ERROR
    second = _batch_at(records, first.size)
    if isinstance(second, _Corrupt):
        return ErrorCode.CORRUPT_MESSAGE
    return ErrorCode.NONE if second is None else ErrorCode.INVALID_RECORD


def is_unreadable(request: ProduceRequest, version: int, behaviour: ReleaseBehaviour) -> bool:
    """True if a broker before 2.8 fails to read the request, because a record set violates the request's version.

    Mirrors ProduceRequest's constructor from a Struct.
    """
    for topic in request.topic_data:
        for partition in topic.partition_data:
            records = partition.records
            assert not isinstance(records, list)  # only an encoder accepts lists
            if records is None:
                return True
            if version < BATCHES_LOWEST_PRODUCE:
                continue
            first = _batch_at(records, 0)
            if first is None:
                return True
            if (
                behaviour.produce_of_old_batches_is_unreadable
                and isinstance(first, _Batch)
                and (first.magic != MAGIC_V2 or _batch_at(records, first.size) is not None)
            ):
                return True
    return False


def whole_request_error(request: ProduceRequest) -> RequestRefused | None:
    """Return the error that refuses the whole request: an invalid first batch, or a transaction without its id."""
    for first, _ in _first_batches(request):
        if isinstance(first, _Corrupt):
            return RequestRefused(error_code=first.error_code, message=first.message)
        if first.is_transactional:
            if request.transactional_id is None:
                return RequestRefused(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            return None
    return None


def has_transactional_records(request: ProduceRequest) -> bool:
    """Return True if the first batch of a record set is transactional. Mirrors RequestUtils.hasTransactionalRecords."""
    for first, _ in _first_batches(request):
        if isinstance(first, _Corrupt):
            return False  # the handler refuses the whole request
        if first.is_transactional:
            return True
    return False


def has_idempotent_records(request: ProduceRequest) -> bool:
    """Return True if the first batch of a record set has a producer id. Mirrors ProduceRequest.hasIdempotentRecords."""
    return any(
        isinstance(first, _Batch)
        and first.magic == MAGIC_V2
        and first.size >= END_OF_SEQUENCE
        and producer_of(records) is not None
        for first, records in _first_batches(request)
    )


def _first_batches(request: ProduceRequest) -> Iterator[tuple[_Batch | _Corrupt, memoryview | bytes]]:
    """Yield the first batch of each record set that has one, and the record set."""
    for topic in request.topic_data:
        for partition in topic.partition_data:
            records = partition.records
            if records is None or isinstance(records, list):
                continue
            first = _batch_at(records, 0)
            if first is not None:
                yield first, records


def producer_ids_readable(record_sets: Iterable[memoryview | bytes]) -> bool:
    """True if each first batch is long enough to hold a producer id; otherwise 4.x fails the whole request."""
    return all(
        not isinstance(first := _batch_at(records, 0), _Batch) or first.size >= END_OF_PRODUCER_ID
        for records in record_sets
    )


def transactional_batch(records: memoryview | bytes | None) -> TransactionalBatch | None:
    """Return the producer of the first batch and its sequence, None if it belongs to no transaction.

    Kafka does not verify a batch without a producer id.
    """
    first = None if records is None else _batch_at(records, 0)
    if records is None or not isinstance(first, _Batch) or first.size < END_OF_SEQUENCE:
        return None
    return producer_of(records) if first.is_transactional else None


def producer_of(records: memoryview | bytes) -> TransactionalBatch | None:
    """Return the producer and the sequence of a whole transactional batch, None if it has no producer id."""
    producer_id, producer_epoch, sequence = _PRODUCER.unpack_from(records, END_OF_SEQUENCE - _PRODUCER.size)
    return None if producer_id <= NO_PRODUCER_ID else (ProducerIdAndEpoch(producer_id, producer_epoch), sequence)


def _batch_at(records: memoryview | bytes, position: int) -> _Batch | _Corrupt | None:
    """Return the header of a complete batch; None at the end or for a torn write. Mirrors ByteBufferLogInputStream."""
    remaining = len(records) - position
    if remaining < LOG_OVERHEAD:
        return None
    (size,) = _SIZE.unpack_from(records, position + 8)
    if size < RECORD_OVERHEAD_V0:
        return _Corrupt(message=f"Record size {size} is less than the minimum record overhead ({RECORD_OVERHEAD_V0})")
    if remaining < HEADER_SIZE_UP_TO_MAGIC:
        return None
    magic = int.from_bytes(records[position + 16 : position + 17], "big", signed=True)
    if not 0 <= magic <= MAGIC_V2:
        return _Corrupt(message=f"Invalid magic found in record: {magic}")
    whole = size + LOG_OVERHEAD
    if whole > INT32_MAX:
        # Java's sum overflows to a negative size, and the slice fails.
        return _Corrupt(message=None, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    if remaining < whole:
        return None
    attributes = int.from_bytes(records[position + 21 : position + 23], "big") if magic == MAGIC_V2 else 0
    return _Batch(size=whole, magic=magic, attributes=attributes)
