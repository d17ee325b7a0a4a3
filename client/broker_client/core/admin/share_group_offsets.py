"""Start offsets of share groups: list, alter and delete them. Mirrors ListShareGroupOffsetsHandler and its siblings.

KIP-932, KIP-1226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twisted.logger import Logger

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.group_coordinators import by_group, of_group, take_code
from broker_client.core.groups.consumer_protocol import partitions_by_topic
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.messages.alter_share_group_offsets import AlterShareGroupOffsetsResponse
    from protocol_specs.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponse
    from protocol_specs.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponse,
        DescribeShareGroupOffsetsResponseTopic,
    )

__all__ = ["ShareGroupOffsetCalls", "SharePartitionOffset"]

_log = Logger()


@dataclass(slots=True, kw_only=True, frozen=True)
class SharePartitionOffset:
    """The first offset that a share group has not finished, and the records after it. Mirrors SharePartitionOffsetInfo.

    `leader_epoch` is None if it is unknown, `lag` also before 4.2.
    """

    start_offset: int
    leader_epoch: int | None
    lag: int | None


StartOffsets = dict[TopicPartition, SharePartitionOffset | None]


class ShareGroupOffsetCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def list_share_group_offsets(
        self, groups: Sequence[str] | Mapping[str, Sequence[TopicPartition] | None]
    ) -> dict[str, StartOffsets]:
        """Start offsets by group and partition; raises ItemsFailed by group id."""
        wanted: dict[str, Sequence[TopicPartition] | None] = (
            dict(groups) if isinstance(groups, Mapping) else dict.fromkeys(groups)
        )

        def build(version: int, group_ids: list[str], timeout_ms: int) -> DescribeShareGroupOffsetsRequest:
            del version, timeout_ms
            return DescribeShareGroupOffsetsRequest(
                groups=[
                    DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=_topics(wanted[group_id]))
                    for group_id in group_ids
                ]
            )

        def take(
            response: DescribeShareGroupOffsetsResponse, _: list[str], outcomes: Outcomes[str, StartOffsets]
        ) -> None:
            for one in response.groups:
                found = _start_offsets(one.group_id, one.topics)
                take_code(outcomes, one.group_id, one.group_id, one.error_code, one.error_message, found)

        call = ItemCall(kind=DescribeShareGroupOffsetsRequest, route=by_group(), build=build, take=take)
        return await self._calls.settle(list(wanted), call)

    async def alter_share_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set start offsets of a share group without members; raises ItemsFailed by partition."""
        wanted = {TopicPartition.of(key): offset for key, offset in offsets.items()}

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> AlterShareGroupOffsetsRequest:
            del version, timeout_ms
            topics: dict[str, AlterShareGroupOffsetsRequestTopic] = {}
            for key in keys:
                topic = topics.setdefault(key.topic, AlterShareGroupOffsetsRequestTopic(topic_name=key.topic))
                topic.partitions.append(
                    AlterShareGroupOffsetsRequestPartition(partition_index=key.partition, start_offset=wanted[key])
                )
            return AlterShareGroupOffsetsRequest(group_id=group_id, topics=list(topics.values()))

        def take(
            response: AlterShareGroupOffsetsResponse,
            keys: list[TopicPartition],
            outcomes: Outcomes[TopicPartition, None],
        ) -> None:
            if response.error_code:
                for key in keys:
                    take_code(outcomes, key, group_id, response.error_code, response.error_message, None)
            for topic in response.responses:
                for one in topic.partitions:
                    key = TopicPartition(topic.topic_name, one.partition_index)
                    take_code(outcomes, key, group_id, one.error_code, one.error_message, None)

        call = ItemCall(kind=AlterShareGroupOffsetsRequest, route=of_group(group_id), build=build, take=take)
        await self._calls.settle(list(wanted), call)

    async def delete_share_group_offsets(self, group_id: str, topics: Sequence[str]) -> None:
        """Delete the start offsets of topics of a share group without members; raises ItemsFailed by topic."""

        def build(version: int, names: list[str], timeout_ms: int) -> DeleteShareGroupOffsetsRequest:
            del version, timeout_ms
            return DeleteShareGroupOffsetsRequest(
                group_id=group_id, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
            )

        def take(response: DeleteShareGroupOffsetsResponse, names: list[str], outcomes: Outcomes[str, None]) -> None:
            if response.error_code:
                for name in names:
                    take_code(outcomes, name, group_id, response.error_code, response.error_message, None)
            for one in response.responses:
                take_code(outcomes, one.topic_name, group_id, one.error_code, one.error_message, None)

        call = ItemCall(kind=DeleteShareGroupOffsetsRequest, route=of_group(group_id), build=build, take=take)
        await self._calls.settle(topics, call)


def _topics(partitions: Sequence[TopicPartition] | None) -> list[DescribeShareGroupOffsetsRequestTopic] | None:
    if partitions is None:
        return None
    return [
        DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers)
        for name, numbers in partitions_by_topic(partitions).items()
    ]


def _start_offsets(group_id: str, topics: Sequence[DescribeShareGroupOffsetsResponseTopic]) -> StartOffsets:
    """Return the offsets of partitions without an error; the others are left out, as in Java."""
    found: StartOffsets = {}
    for topic in topics:
        for one in topic.partitions:
            key = TopicPartition(topic.topic_name, one.partition_index)
            if one.error_code:
                _log.warn(
                    "admin: partition left out of the share offsets group={group} partition={key} error={error}",
                    group=group_id,
                    key=key,
                    error=ErrorCode.for_code(one.error_code).name,
                )
            elif one.start_offset < 0:
                found[key] = None
            else:
                found[key] = SharePartitionOffset(
                    start_offset=one.start_offset,
                    leader_epoch=one.leader_epoch if one.leader_epoch >= 0 else None,
                    lag=one.lag if one.lag >= 0 else None,
                )
    return {key: found[key] for key in sorted(found)}
