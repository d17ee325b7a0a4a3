"""Topics with their eligible leader replicas, page by page. Mirrors KafkaAdminClient.describeTopics; KIP-966."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.admin_errors import ItemsFailed
from broker_client.core.admin.routes import ANY
from broker_client.core.admin.topics import TopicCalls, TopicDescription, TopicPartitionInfo
from broker_client.errors import ProducerError, UnsupportedVersion, error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol_specs.uuids import ZERO_UUID, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.messages.describe_topic_partitions import (
        DescribeTopicPartitionsResponse,
        DescribeTopicPartitionsResponsePartition,
        DescribeTopicPartitionsResponseTopic,
    )

__all__ = ["TopicPartitionCalls"]

PARTITIONS_PER_RESPONSE_MAX: Final = 2_000
PAGES_MAX: Final = 10_000


class TopicPartitionCalls(TopicCalls):
    """Call everything on the reactor's thread."""

    async def describe_topics(
        self, names: Sequence[str], *, partitions_per_response: int = PARTITIONS_PER_RESPONSE_MAX
    ) -> dict[str, TopicDescription]:
        """Topics by name; raises ItemsFailed by name. From Metadata where brokers lack DescribeTopicPartitions."""
        if not names:
            return {}
        try:
            found, errors = await self._pages(sorted(dict.fromkeys(names)), partitions_per_response)
        except UnsupportedVersion:
            return await self.describe_topics_by_metadata(names)
        for name in names:
            if name not in found and name not in errors:
                errors[name] = ProducerError(f"no page describes topic {name!r}")
        if errors:
            raise ItemsFailed(errors, found)
        return {name: found[name] for name in names}

    async def _pages(
        self, names: list[str], limit: int
    ) -> tuple[dict[str, TopicDescription], dict[str, ProducerError]]:
        """Page after page, in the order of names, which is the one that the broker's cursor goes by."""
        found: dict[str, TopicDescription] = {}
        errors: dict[str, ProducerError] = {}
        cursor: Cursor | None = None
        for _ in range(PAGES_MAX):
            response: DescribeTopicPartitionsResponse = await self._calls.request(
                DescribeTopicPartitionsRequest,
                lambda *_, at=cursor: DescribeTopicPartitionsRequest(
                    topics=[TopicRequest(name=name) for name in names if at is None or name >= at.topic_name],
                    response_partition_limit=limit,
                    cursor=at,
                ),
                route=ANY,
            )
            for topic in response.topics:
                name = topic.name or ""
                code = ErrorCode.for_code(topic.error_code)
                if code is ErrorCode.NONE:
                    found[name] = _joined(found.get(name), _described(topic, name))
                else:
                    errors[name] = error_of(code, name, topic=name)
            cursor = response.next_cursor
            if cursor is None:
                break
        return found, errors


def _joined(before: TopicDescription | None, page: TopicDescription) -> TopicDescription:
    if before is None:
        return page
    return TopicDescription(
        name=page.name, topic_id=page.topic_id, internal=page.internal, partitions=before.partitions + page.partitions
    )


def _described(topic: DescribeTopicPartitionsResponseTopic, name: str) -> TopicDescription:
    return TopicDescription(
        name=name,
        topic_id=None if topic.topic_id == ZERO_UUID else to_text(topic.topic_id),
        internal=topic.is_internal,
        partitions=tuple(_partition(one) for one in sorted(topic.partitions, key=lambda one: one.partition_index)),
    )


def _partition(one: DescribeTopicPartitionsResponsePartition) -> TopicPartitionInfo:
    elr, last_known = one.eligible_leader_replicas, one.last_known_elr
    return TopicPartitionInfo(
        partition=one.partition_index,
        leader=one.leader_id if one.leader_id >= 0 else None,
        leader_epoch=one.leader_epoch,
        replicas=tuple(one.replica_nodes),
        isr=tuple(one.isr_nodes),
        offline_replicas=tuple(one.offline_replicas),
        eligible_leader_replicas=None if elr is None else tuple(elr),
        last_known_elr=None if last_known is None else tuple(last_known),
    )
