"""Fast path of a Produce to one partition, the most frequent kind: a valid request needs no sorting of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from broker_sim.apis.produce_validation import INTERNAL_TOPICS, TOPIC_IDS_LOWEST, VALID_ACKS, is_plain_batch

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.replication.partition import Partition
    from protocol_specs.messages.produce import ProduceRequest

__all__ = ["only_entry"]

Entry: TypeAlias = "tuple[Partition, bytes | memoryview]"


def only_entry(request: ProduceRequest, context: RequestContext) -> Entry | None:
    """Return the request's only partition and its batch.

    None selects the slow path: there are more partitions, this broker does not host it, or the topic, the batch or acks
    is invalid or needs a check that is made there.
    """
    topics = request.topic_data
    if len(topics) != 1:
        return None
    topic = topics[0]
    partitions = topic.partition_data
    if len(partitions) != 1:
        return None
    index = partitions[0].index
    records: Any = partitions[0].records
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
        or not is_plain_batch(records)
    ):
        return None
    # A plain tuple finds what a TopicPartition does.
    partition = broker.replica_manager.partitions.get((topic_image.name, index))  # type: ignore[call-overload]
    return None if partition is None else (partition, records)
