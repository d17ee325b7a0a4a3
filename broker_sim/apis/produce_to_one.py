"""The short way of a Produce to one partition, which most are: nothing to sort, and three numbers to answer.

It is for one plain batch and for success; what takes more, or comes to more, is for `Produce`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from broker_sim.apis.prepared_response import LOWEST_VERSION, PreparedResponse, produced
from broker_sim.apis.produce_validation import INTERNAL_TOPICS, TOPIC_IDS_LOWEST, VALID_ACKS, is_plain_batch
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.replication.requests import PartitionAppend
    from protocol_specs.message import Buffer
    from protocol_specs.messages.produce import ProduceRequest

__all__ = ["answer_success", "only_entry"]

Entry: TypeAlias = "tuple[TopicPartition, Buffer | None]"


def only_entry(request: ProduceRequest, context: RequestContext) -> Entry | None:
    """The request's only partition and its batch, where neither they nor acks can be wrong."""
    topics = request.topic_data
    if len(topics) != 1:
        return None
    [topic] = topics
    if len(topic.partition_data) != 1:
        return None
    [partition] = topic.partition_data
    image = context.broker.metadata_cache.image
    if context.api_version < TOPIC_IDS_LOWEST:
        topic_image = image.topics.get(topic.name)
    else:
        topic_image = image.topics_by_id.get(topic.topic_id)
    records = partition.records
    if (
        topic_image is None
        or not 0 <= partition.index < len(topic_image.partitions)
        or topic_image.name in INTERNAL_TOPICS
        or request.acks not in VALID_ACKS
        or isinstance(records, list)
        or not is_plain_batch(records)
    ):
        return None
    return TopicPartition(topic_image.name, partition.index), records


def answer_success(
    request: ProduceRequest, context: RequestContext, results: list[PartitionAppend]
) -> PreparedResponse | None:
    """The answer, if the append is a success and somebody waits for it."""
    [result] = results
    version = context.api_version
    if result.error_code or not request.acks or version < LOWEST_VERSION or context.channel is None:
        return None
    [topic] = request.topic_data
    return produced(
        version,
        topic.name,
        topic.topic_id,
        result.topic_partition.partition,
        result.base_offset,
        result.log_append_time_ms,
        result.log_start_offset,
    )
