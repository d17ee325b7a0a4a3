"""Produce (api key 0): append record batches to partitions. Mirrors KafkaApis.handleProduceRequest.

Versions: 4.3 lists 0 to 13 and closes the connection on 0 to 2; 3.7 serves 0 to 10.
- acks=0 has no response; an error closes the connection, valid records stay written.
- acks other than -1, 0, 1: INVALID_REQUIRED_ACKS for each partition that exists.
- The same partition twice: the last record set is appended, the response has one result.
- Null records: before 2.8 the request cannot be read; 3.7 returns -1, 4.3 never responds and keeps the connection open.
- v3: batches of format v2, exactly one per partition, else INVALID_RECORD. v7: zstd. v8: record errors (KIP-467).
- v10: the current leader beside NOT_LEADER_OR_FOLLOWER (KIP-951). v13: topic ids.

Most requests have one valid batch for one partition. They take a fast path: no sorting of errors, and a response that
is made from an example. The batch of a transaction is verified before. `produce_partitions` serves all other requests.
docs/design/fast-paths.md has the measured gain.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.produce_partitions import ProducePartitions, error_response, transaction_support
from broker_sim.apis.produce_validation import (
    INTERNAL_TOPICS,
    LOG_OVERHEAD,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    SIZE_MAGIC_ATTRIBUTES,
    TOPIC_IDS_LOWEST,
    TRANSACTIONAL_ZSTD_OR_BEYOND,
    VALID_ACKS,
    ZSTD,
    TransactionalBatch,
    producer_of,
)
from broker_sim.apis.transaction_verification import Verified, verified
from broker_sim.log.append_results import PartitionAppend
from protocol_specs.framing import encode_response
from protocol_specs.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.handler_result import HandlerResult, NoResponse, PreparedResponse, Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.replication.partition import Partition
    from protocol_specs.messages.produce import ProduceRequest, TopicProduceData

__all__ = ["HANDLER", "handle", "only_partition", "success_response"]


def handle(request: ProduceRequest, context: RequestContext) -> HandlerResult:
    """Append to the partitions that this broker leads, and respond when acks are reached."""
    hook = context.append_hook
    if hook is None and context.access is None:
        only = only_partition(request, context)
        if only is not None:
            partition, records, batch = only
            if batch is None:
                return _append_to_one(partition, records, request, context)
            return _append_to_transaction(partition, records, batch, request, context)
    produce = ProducePartitions(request, context)
    produce.sort()
    if produce.needs_checks:
        refusal = produce.refuse_request()
        if refusal is not None:
            return refusal
    results = produce.append(None if hook is None else hook.appended)
    if hook is None and isinstance(results, list):
        return produce.respond(results)
    followed = results if hook is None else hook.finished(results)
    assert isinstance(followed, Deferred)
    responded: Deferred[Response | NoResponse] = followed.addCallback(produce.respond)
    return responded


def _append_to_one(
    partition: Partition,
    records: bytes | memoryview,
    request: ProduceRequest,
    context: RequestContext,
    guard: object | None = None,
) -> HandlerResult:
    appended = context.broker.replica_manager.append_to_partition(
        context.request_id, request.timeout_ms, request.acks, partition, records, guard
    )
    if isinstance(appended, PartitionAppend):
        return _respond_to_one(appended, request, context)
    late: Deferred[Response | NoResponse] = appended.addCallback(
        lambda results: _respond_to_one(results[0], request, context)
    )
    return late


def _append_to_transaction(
    partition: Partition,
    records: bytes | memoryview,
    batch: TransactionalBatch,
    request: ProduceRequest,
    context: RequestContext,
) -> HandlerResult:
    """Append the batch of a transaction; refusals and late verifications take the slow path from there on."""
    producer, sequence = batch
    key = partition.topic_partition
    support = transaction_support(context.api_version)
    found = verified(context, request.transactional_id, producer, {key: sequence}, support)
    if isinstance(found, Verified) and not found.errors:
        return _append_to_one(partition, records, request, context, found.guards.get(key))
    produce = ProducePartitions(request, context)
    produce.sort()
    results = produce.append_verified(found)
    if isinstance(results, list):
        return produce.respond(results)
    late: Deferred[Response | NoResponse] = results.addCallback(produce.respond)
    return late


def _respond_to_one(result: PartitionAppend, request: ProduceRequest, context: RequestContext) -> Response | NoResponse:
    version = context.api_version
    if not result.error_code and request.acks and version >= EXAMPLES_LOWEST and context.transport.takes_frames:
        return success_response(context.correlation_id, version, request.topic_data[0], result)
    produce = ProducePartitions(request, context)
    produce.sort()
    return produce.respond([result])


def partitions_of(request: ProduceRequest, context: RequestContext) -> list[tuple[str, int]]:
    """Return the partitions that a request names, each once."""
    by_id = context.broker.metadata_cache.image.topics_by_id
    named = [
        (by_id[topic.topic_id].name if topic.topic_id in by_id else topic.name, partition.index)
        for topic in request.topic_data
        for partition in topic.partition_data
    ]
    return list(dict.fromkeys(named))


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response, partitions=partitions_of)


# The fast path: one batch for one partition.


def only_partition(
    request: ProduceRequest, context: RequestContext
) -> tuple[Partition, bytes | memoryview, TransactionalBatch | None] | None:
    """Return the request's only partition and its batch, and for a batch of a transaction its producer and sequence.

    None selects the slow path: there are more partitions, this broker does not host it, or the topic, the batch or acks
    is invalid or needs a check that is made there.
    """
    try:
        [topic] = request.topic_data
        [entry] = topic.partition_data
    except ValueError:
        return None
    records: Any = entry.records
    broker = context.broker
    image = broker.metadata_cache.image
    if context.api_version < TOPIC_IDS_LOWEST:
        topic_image = image.topics.get(topic.name)
    else:
        topic_image = image.topics_by_id.get(topic.topic_id)
    if (
        topic_image is None
        or topic_image.name in INTERNAL_TOPICS
        or request.acks not in VALID_ACKS
        or records is None
        or (length := len(records)) < RECORD_BATCH_OVERHEAD
    ):
        return None
    size, magic, attributes = SIZE_MAGIC_ATTRIBUTES.unpack_from(records, 8)
    if size + LOG_OVERHEAD != length or magic != MAGIC_V2:
        return None
    batch: TransactionalBatch | None = None
    if attributes & TRANSACTIONAL_ZSTD_OR_BEYOND:
        if attributes & ZSTD or request.transactional_id is None:
            return None
        batch = producer_of(records)
        if batch is None:
            return None
    # A plain tuple finds what a TopicPartition does.
    partition = broker.replica_manager.partitions.get((topic_image.name, entry.index))  # type: ignore[call-overload]
    return None if partition is None else (partition, records, batch)


EXAMPLES_LIMIT: Final = 10_000
EXAMPLES_LOWEST: Final = 5
"""From this version on the three numbers of a partition are neighbours."""

_NUMBERS: Final = struct.Struct(">qqq")
_SAMPLE: Final = (-0x0123456789ABCDEF, -0x0FEDCBA987654321, -0x1122334455667788)
_SIZE_BYTES: Final = 4
_CORRELATION_END: Final = 8

_Example: TypeAlias = "tuple[Callable[..., bytes], bytes, bytes, bytes]"
"""The function that packs a frame; the frame's size, and its bytes before and after the numbers of the partition."""

_examples: dict[tuple[int, str, bytes, int], _Example] = {}


def success_response(
    correlation_id: int, version: int, topic: TopicProduceData, result: PartitionAppend
) -> PreparedResponse:
    """Return the frame of a response to one successful append to one partition; for versions from EXAMPLES_LOWEST.

    Such responses differ in four numbers. The other bytes come from an encoded example of that version, topic and
    partition.
    """
    key = (version, topic.name, topic.topic_id, topic.partition_data[0].index)
    pack, size, head, tail = _examples.get(key) or _make_example(*key)
    return pack(
        size, correlation_id, head, result.base_offset, result.log_append_time_ms, result.log_start_offset, tail
    )


def _make_example(version: int, topic: str, topic_id: bytes, partition: int) -> _Example:
    base_offset, log_append_time_ms, log_start_offset = _SAMPLE
    sample = PartitionProduceResponse(
        index=partition,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    response = ProduceResponse(
        responses=[TopicProduceResponse(name=topic, topic_id=topic_id, partition_responses=[sample])]
    )
    frame = encode_response(response, version, correlation_id=0)
    head, tail = frame[_CORRELATION_END:].split(_NUMBERS.pack(*_SAMPLE))
    whole = struct.Struct(f">{_SIZE_BYTES}si{len(head)}sqqq{len(tail)}s")
    if len(_examples) >= EXAMPLES_LIMIT:
        _examples.clear()
    example = whole.pack, frame[:_SIZE_BYTES], head, tail
    _examples[version, topic, topic_id, partition] = example
    return example
