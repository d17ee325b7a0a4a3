"""The changes of administrators to the offsets of share groups. Mirrors the methods of GroupMetadataManager for
AlterShareGroupOffsets, DeleteShareGroupOffsets and DeleteGroups.

The offsets are in the state of the share coordinator: an operation records its intention and returns the share
partitions whose state is to change; the caller has the share coordinator change them, and records the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.group_registry import other_type
from broker_sim.coordinators.groups.share import share_records
from broker_sim.coordinators.groups.share.initialization import Initialization, InitializedTopic, combined
from broker_sim.coordinators.groups.share.share_group import ShareGroup
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from protocol_specs.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponseTopic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequestTopic

__all__ = ["Alteration", "Deletion", "GroupDeletions", "ShareOffsets"]

NOTHING_TO_DELETE = "There is no offset information to delete."
_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@dataclass(frozen=True, slots=True)
class Alteration:
    """The responses of an alteration, and the new start offset of each share partition to initialize."""

    state_epoch: int
    responses: list[AlterShareGroupOffsetsResponseTopic]
    offsets: Mapping[bytes, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Deletion:
    """The topics that have no offsets to delete, and the share partitions whose state is to be deleted."""

    refused: list[DeleteShareGroupOffsetsResponseTopic]
    partitions: TopicPartitions


@dataclass(frozen=True, slots=True)
class GroupDeletions:
    """The share partitions of each group that is to be deleted, and the groups that cannot be."""

    partitions: dict[str, TopicPartitions] = field(default_factory=dict)
    refused: dict[str, ErrorCode] = field(default_factory=dict)


class ShareOffsets:
    """The offsets of the share groups of one shard."""

    def __init__(
        self,
        context: ShardContext,
        groups: GroupRegistry,
        new_group: Callable[[str], ShareGroup],
    ) -> None:
        self._context = context
        self._groups = groups
        self._new_group = new_group

    @property
    def _image(self) -> MetadataImage:
        return self._context.host.metadata_cache.image

    def initialized(self, group_id: str) -> TopicPartitions:
        """Return the share partitions of a group that have state; none for a group that is unknown."""
        group = self._groups.find(ShareGroup, group_id)
        known = None if group is None else group.initialization.get()
        return {} if known is None else {key: topic.partitions for key, topic in known.initialized.items()}

    def alter(
        self, group_id: str, topics: Sequence[AlterShareGroupOffsetsRequestTopic]
    ) -> CoordinatorResult[Alteration]:
        """Begin to set start offsets; a group that does not exist is created. Mirrors alterShareGroupOffsets.

        Raises:
            CoordinatorError: The group has members, or is of another type.
        """
        group = self._groups.get(group_id) or self._new_group(group_id)
        if not isinstance(group, ShareGroup):
            raise other_type(ShareGroup, group_id)
        group.check_delete()
        responses: list[AlterShareGroupOffsetsResponseTopic] = []
        initializing: dict[bytes, InitializedTopic] = {}
        offsets: dict[bytes, dict[int, int]] = {}
        for topic in topics:
            image = self._image.topics.get(topic.topic_name)
            count = 0 if image is None else len(image.partitions)
            partitions = [_altered(each.partition_index, each.partition_index < count) for each in topic.partitions]
            response = AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=partitions)
            responses.append(response)
            if image is None:
                continue
            response.topic_id = image.topic_id
            valid = {
                each.partition_index: each.start_offset for each in topic.partitions if each.partition_index < count
            }
            if valid:
                offsets.setdefault(image.topic_id, {}).update(valid)
            initializing[image.topic_id] = InitializedTopic(image.name, frozenset(valid), self._context.now_ms())
        records = []
        if initializing:
            known = group.initialization.get() or Initialization()
            records.append(self._record(group_id, known.with_initializing(initializing)))
        return CoordinatorResult(records, Alteration(group.group_epoch.get(), responses, offsets))

    def _record(self, group_id: str, initialization: Initialization) -> CoordinatorRecord:
        return share_records.initialization_record(group_id, initialization, self._image)

    def begin_delete(self, group_id: str, names: Iterable[str]) -> CoordinatorResult[Deletion]:
        """Begin to delete the offsets of topics. Mirrors initiateDeleteShareGroupOffsets.

        Raises:
            CoordinatorError: The group has members, is unknown, or is of another type.
        """
        group = self._groups.existing_of(ShareGroup, group_id)
        group.check_delete()
        known = group.initialization.get()
        refused: list[DeleteShareGroupOffsetsResponseTopic] = []
        partitions: dict[bytes, frozenset[int]] = {}
        if known is None:
            return CoordinatorResult([], Deletion(refused, partitions))
        initialized, deleting = dict(known.initialized), set(known.deleting)
        for name in names:
            image = self._image.topics.get(name)
            if image is None:
                refused.append(_not_deleted(name, default_message(_UNKNOWN)))
            elif image.topic_id in initialized:
                partitions[image.topic_id] = initialized.pop(image.topic_id).partitions
                deleting.add(image.topic_id)
            elif image.topic_id in deleting:
                partitions[image.topic_id] = frozenset(range(len(image.partitions)))
            else:
                refused.append(_not_deleted(name, NOTHING_TO_DELETE))
        changed = replace(known, initialized=initialized, deleting=frozenset(deleting))
        return CoordinatorResult([self._record(group_id, changed)], Deletion(refused, partitions))

    def complete_delete(
        self, group_id: str, topic_ids: Sequence[bytes]
    ) -> CoordinatorResult[list[DeleteShareGroupOffsetsResponseTopic]]:
        """Note that the state of topics is deleted. Mirrors completeDeleteShareGroupOffsets."""
        group = self._groups.find(ShareGroup, group_id)
        known = None if group is None else group.initialization.get()
        if known is None:
            return CoordinatorResult([], [])
        left = replace(known, deleting=known.deleting - frozenset(topic_ids))
        topics = self._image.topics_by_id
        responses = [
            DeleteShareGroupOffsetsResponseTopic(topic_id=topic_id, topic_name=topics[topic_id].name)
            for topic_id in topic_ids
            if topic_id in topics
        ]
        return CoordinatorResult([self._record(group_id, left)], responses)

    def begin_group_deletions(self, group_ids: Iterable[str]) -> CoordinatorResult[GroupDeletions]:
        """Begin to delete the share groups among these. Mirrors sharePartitionDeleteRequests."""
        records: list[CoordinatorRecord] = []
        deletions = GroupDeletions()
        for group_id in group_ids:
            group = self._groups.find(ShareGroup, group_id)
            if group is None:
                continue
            if not group.is_empty():
                deletions.refused[group_id] = ErrorCode.NON_EMPTY_GROUP
                continue
            known = group.initialization.get()
            if known is None:
                continue
            topics = combined(known.initialized, known.initializing)
            for topic_id in known.deleting:
                image = self._image.topics_by_id.get(topic_id)
                if image is not None:
                    again = InitializedTopic(image.name, frozenset(range(len(image.partitions))), -1)
                    topics = combined(topics, {topic_id: again})
            records.append(self._record(group_id, Initialization(deleting=frozenset(topics))))
            if topics:
                deletions.partitions[group_id] = {key: topic.partitions for key, topic in topics.items()}
        return CoordinatorResult(records, deletions)


def _altered(partition: int, exists: bool) -> AlterShareGroupOffsetsResponsePartition:  # noqa: FBT001
    if exists:
        return AlterShareGroupOffsetsResponsePartition(partition_index=partition)
    return AlterShareGroupOffsetsResponsePartition(
        partition_index=partition, error_code=_UNKNOWN, error_message=default_message(_UNKNOWN)
    )


def _not_deleted(name: str, message: str) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, error_code=_UNKNOWN, error_message=message)
