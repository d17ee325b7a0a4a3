"""Committed offsets of groups: list, alter and delete them. Mirrors ListConsumerGroupOffsetsHandler and its siblings.

KIP-222, KIP-396, KIP-496, KIP-709.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_client.core.admin.calls import AdminCalls, ItemCall, OneItemPerRequest, Outcomes
from broker_client.core.admin.coordinators import COORDINATOR_RETRIED
from broker_client.core.admin.group_coordinators import by_group, of_group, take_code
from broker_client.core.groups.committed_offsets import BY_GROUP_FROM, committed_offset, offset_fetch_request
from broker_client.core.groups.consumer_protocol import partitions_by_topic
from broker_client.core.groups.offset_commits import offset_commit_request
from broker_client.core.groups.topic_ids import TOPIC_NAMES_UP_TO
from broker_client.errors import UnsupportedVersion
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_commit import OffsetCommitRequest
from protocol_specs.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition
from protocol_specs.messages.offset_delete import OffsetDeleteRequestTopic as DeletedTopic
from protocol_specs.messages.offset_fetch import OffsetFetchRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.consumer_groups import OffsetAndMetadata
    from protocol_specs.messages.offset_commit import OffsetCommitResponse
    from protocol_specs.messages.offset_delete import OffsetDeleteResponse
    from protocol_specs.messages.offset_fetch import OffsetFetchResponse

__all__ = ["GroupOffsetCalls"]

ALL_PARTITIONS_FROM: Final = 2
_COMMIT_RETRIED: Final = (*COORDINATOR_RETRIED, ErrorCode.REBALANCE_IN_PROGRESS)
_log = Logger()

Committed = dict[TopicPartition, "OffsetAndMetadata | None"]


class GroupOffsetCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def list_group_offsets(
        self,
        groups: Sequence[str] | Mapping[str, Sequence[TopicPartition] | None],
        *,
        require_stable: bool = False,
    ) -> dict[str, Committed]:
        """Committed offsets by group and partition; raises ItemsFailed by group id."""
        wanted: dict[str, Sequence[TopicPartition] | None] = (
            dict(groups) if isinstance(groups, Mapping) else dict.fromkeys(groups)
        )

        def build(version: int, group_ids: list[str], timeout_ms: int) -> OffsetFetchRequest:
            del timeout_ms
            if version < BY_GROUP_FROM and len(group_ids) > 1:
                raise OneItemPerRequest(f"OffsetFetch v{version} has one group per request")
            if version < ALL_PARTITIONS_FROM and any(wanted[group_id] is None for group_id in group_ids):
                raise UnsupportedVersion(
                    f"all offsets of a group are listed from OffsetFetch v{ALL_PARTITIONS_FROM} (Kafka 0.10.2) on, "
                    f"the node speaks v{version}: name the partitions"
                )
            partitions = {group_id: wanted[group_id] for group_id in group_ids}
            return offset_fetch_request(version, partitions, require_stable=require_stable)

        def take(response: OffsetFetchResponse, group_ids: list[str], outcomes: Outcomes[str, Committed]) -> None:
            found: list[tuple[str, Any]] = [(one.group_id, one) for one in response.groups]
            for group_id, one in found or [(group_ids[0], response)]:
                take_code(outcomes, group_id, group_id, one.error_code, None, _committed(group_id, one.topics))

        call = ItemCall(
            kind=OffsetFetchRequest, route=by_group(), build=build, take=take, highest_version=TOPIC_NAMES_UP_TO
        )
        return await self._calls.settle(list(wanted), call)

    async def alter_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets of a group without active members; raises ItemsFailed by partition."""
        wanted = {TopicPartition.of(key): one for key, one in offsets.items()}

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> OffsetCommitRequest:
            del version, timeout_ms
            return offset_commit_request(group_id, {key: wanted[key] for key in keys})

        def take(
            response: OffsetCommitResponse, _: list[TopicPartition], outcomes: Outcomes[TopicPartition, None]
        ) -> None:
            for topic in response.topics:
                for one in topic.partitions:
                    key = TopicPartition(topic.name, one.partition_index)
                    take_code(outcomes, key, group_id, one.error_code, None, None, retried=_COMMIT_RETRIED)

        call = ItemCall(
            kind=OffsetCommitRequest,
            route=of_group(group_id),
            build=build,
            take=take,
            highest_version=TOPIC_NAMES_UP_TO,
        )
        await self._calls.settle(list(wanted), call)

    async def delete_group_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> None:
        """Delete committed offsets of a group; raises ItemsFailed by partition."""

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> OffsetDeleteRequest:
            del version, timeout_ms
            topics = [
                DeletedTopic(
                    name=name, partitions=[OffsetDeleteRequestPartition(partition_index=one) for one in numbers]
                )
                for name, numbers in partitions_by_topic(keys).items()
            ]
            return OffsetDeleteRequest(group_id=group_id, topics=topics)

        def take(
            response: OffsetDeleteResponse, keys: list[TopicPartition], outcomes: Outcomes[TopicPartition, None]
        ) -> None:
            if response.error_code:
                for key in keys:
                    take_code(outcomes, key, group_id, response.error_code, None, None)
            for topic in response.topics:
                for one in topic.partitions:
                    key = TopicPartition(topic.name, one.partition_index)
                    take_code(outcomes, key, group_id, one.error_code, None, None)

        call = ItemCall(kind=OffsetDeleteRequest, route=of_group(group_id), build=build, take=take)
        await self._calls.settle([TopicPartition.of(key) for key in partitions], call)


def _committed(group_id: str, topics: Sequence[Any]) -> Committed:
    """Return the offsets of partitions without an error; the others are left out, as in Java."""
    found: Committed = {}
    for topic in topics:
        for one in topic.partitions:
            key = TopicPartition(topic.name, one.partition_index)
            if one.error_code:
                _log.warn(
                    "admin: partition left out of the offsets group={group} partition={key} error={error}",
                    group=group_id,
                    key=key,
                    error=ErrorCode.for_code(one.error_code).name,
                )
            else:
                found[key] = committed_offset(one)
    return {key: found[key] for key in sorted(found)}
