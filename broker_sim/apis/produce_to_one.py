"""The short way of a Produce to one partition, which most are: with nothing wrong there is nothing to sort."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.apis.produce_validation import INTERNAL_TOPICS, TOPIC_IDS_LOWEST, VALID_ACKS, is_plain_batch
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Buffer
    from protocol_specs.messages.produce import ProduceRequest

__all__ = ["only_entry"]

Entry: TypeAlias = "tuple[TopicPartition, Buffer | None]"

_topic_partition: Final = lru_cache(maxsize=10_000)(TopicPartition)
"""The same few are asked for again and again, and finding one costs less than making it."""


def only_entry(request: ProduceRequest, context: RequestContext) -> Entry | None:
    """The request's only partition and its batch, where neither they nor acks can be wrong."""
    topics = request.topic_data
    if len(topics) != 1:
        return None
    [topic] = topics
    if len(topic.partition_data) != 1:
        return None
    [partition] = topic.partition_data
    index = partition.index
    image = context.broker.metadata_cache.image
    if context.api_version < TOPIC_IDS_LOWEST:
        topic_image = image.topics.get(topic.name)
    else:
        topic_image = image.topics_by_id.get(topic.topic_id)
    records = partition.records
    if (
        topic_image is None
        or not 0 <= index < len(topic_image.partitions)
        or topic_image.name in INTERNAL_TOPICS
        or request.acks not in VALID_ACKS
        or isinstance(records, list)
        or not is_plain_batch(records)
    ):
        return None
    return _topic_partition(topic_image.name, index), records
