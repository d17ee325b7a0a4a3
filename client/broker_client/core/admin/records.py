"""Offsets and the records before them. Mirrors ListOffsetsHandler and DeleteRecordsHandler.

Both go to the leader of each partition, and follow it when it moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import LEADER
from broker_client.errors import BrokerError, UnsupportedVersion
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol_specs.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["HIGH_WATERMARK", "ListedOffset", "OffsetSpec", "RecordCalls"]

HIGH_WATERMARK: Final = -1
"""As an offset of delete_records: every record that a consumer may see."""
CONSUMER_REPLICA_ID: Final = -1
RETRIED: Final = tuple(code for code in ErrorCode if code.retriable)


class OffsetSpec(IntEnum):
    """The offsets that have a name; any number from 0 on is a time in ms. Mirrors OffsetSpec."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


_NAMED_FROM: Final[Mapping[int, tuple[int, str]]] = {
    OffsetSpec.MAX_TIMESTAMP: (7, "3.0"),
    OffsetSpec.EARLIEST_LOCAL: (8, "3.5"),
    OffsetSpec.LATEST_TIERED: (9, "3.9"),
    OffsetSpec.EARLIEST_PENDING_UPLOAD: (11, "4.2"),
}
_ISOLATION_FROM: Final = 2


@dataclass(slots=True, kw_only=True, frozen=True)
class ListedOffset:
    """Mirrors ListOffsetsResultInfo.

    `offset` is -1 where no record is that young, `timestamp_ms` -1 where the response names no record, the leader
    epoch -1 where it is unknown (and from brokers before 2.1).
    """

    offset: int
    timestamp_ms: int
    leader_epoch: int


class RecordCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    def _leader_epochs(self, keys: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The epochs that leaders compare with their own; an admin client sends none."""
        del keys
        return {}

    async def list_offsets(
        self,
        partitions: Mapping[TopicPartition, OffsetSpec | int],
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, ListedOffset]:
        """The offset that each partition's spec names; raises ItemsFailed by partition."""
        specs = {TopicPartition.of(key): int(spec) for key, spec in partitions.items()}

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> ListOffsetsRequest:
            for key in keys:
                refuse_spec(version, specs[key])
            refuse_isolation(version, isolation_level)
            wanted = {key: specs[key] for key in keys}
            return list_offsets_request(wanted, isolation_level, timeout_ms, self._leader_epochs(keys))

        def take(response: Any, _: list[TopicPartition], outcomes: Outcomes[TopicPartition, ListedOffset]) -> None:
            for topic in response.topics:
                for one in topic.partitions:
                    key = TopicPartition(topic.name, one.partition_index)
                    outcomes.take(key, one.error_code, None, listed(one), retried=RETRIED, topic=topic.name)

        call = ItemCall(kind=ListOffsetsRequest, route=LEADER, build=build, take=take)
        return await self._calls.settle(list(specs), call)

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before these offsets and return the low watermarks. Raises ItemsFailed by partition."""
        offsets = {TopicPartition.of(key): offset for key, offset in before.items()}

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> DeleteRecordsRequest:
            del version
            topics: dict[str, DeleteRecordsTopic] = {}
            for key in keys:
                topic = topics.setdefault(key.topic, DeleteRecordsTopic(name=key.topic))
                topic.partitions.append(DeleteRecordsPartition(partition_index=key.partition, offset=offsets[key]))
            return DeleteRecordsRequest(topics=list(topics.values()), timeout_ms=timeout_ms)

        def take(response: Any, _: list[TopicPartition], outcomes: Outcomes[TopicPartition, int]) -> None:
            for topic in response.topics:
                for one in topic.partitions:
                    key = TopicPartition(topic.name, one.partition_index)
                    outcomes.take(key, one.error_code, None, one.low_watermark, retried=RETRIED, topic=topic.name)

        call = ItemCall(kind=DeleteRecordsRequest, route=LEADER, build=build, take=take)
        return await self._calls.settle(list(offsets), call)


def list_offsets_request(
    specs: Mapping[TopicPartition, int],
    isolation_level: IsolationLevel,
    timeout_ms: int,
    leader_epochs: Mapping[TopicPartition, int] | None = None,
) -> ListOffsetsRequest:
    """A consumer's request for the leader of these partitions."""
    topics: dict[str, ListOffsetsTopic] = {}
    for key, spec in specs.items():
        topics.setdefault(key.topic, ListOffsetsTopic(name=key.topic)).partitions.append(
            ListOffsetsPartition(
                partition_index=key.partition,
                timestamp=spec,
                current_leader_epoch=-1 if leader_epochs is None else leader_epochs.get(key, -1),
            )
        )
    return ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=isolation_level,
        topics=list(topics.values()),
        timeout_ms=timeout_ms,
    )


def listed(one: ListOffsetsPartitionResponse) -> ListedOffset:
    """A partition's offset; brokers before 0.10.1 return a list, of which one offset is requested."""
    offset = one.old_style_offsets[0] if one.old_style_offsets else one.offset
    return ListedOffset(offset=offset, timestamp_ms=one.timestamp, leader_epoch=one.leader_epoch)


def refuse_spec(version: int, spec: int) -> None:
    """Raise UnsupportedVersion for a spec that the version does not know, which it would take for a time."""
    if spec >= OffsetSpec.EARLIEST:
        return
    if spec not in _NAMED_FROM:
        known = ", ".join(one.name for one in OffsetSpec)
        raise BrokerError(ErrorCode.INVALID_REQUEST, f"offset spec {spec}: expected {known} or a time from 0 on")
    first, release = _NAMED_FROM[spec]
    if version < first:
        raise UnsupportedVersion(
            f"OffsetSpec.{OffsetSpec(spec).name} needs ListOffsets v{first} (Kafka {release}), "
            f"the node speaks v{version}"
        )


def refuse_isolation(version: int, isolation_level: IsolationLevel) -> None:
    """Raise UnsupportedVersion for read_committed where the broker would return its high watermark instead."""
    if isolation_level is IsolationLevel.READ_COMMITTED and version < _ISOLATION_FROM:
        raise UnsupportedVersion(
            f"isolation.level=read_committed needs ListOffsets v{_ISOLATION_FROM} (Kafka 0.11), "
            f"the node speaks v{version}"
        )
