"""Whole batches of logs, with the control records that consumers skip. Kafka's Admin has no such call.

Sends Fetch requests, as a consumer with read_uncommitted does, to the leaders of the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.records import RETRIED
from broker_client.core.admin.routes import LEADER
from broker_client.records import TopicPartition
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.messages.fetch import FetchResponse

__all__ = ["LogRead", "LogReadCalls"]

MAX_BYTES: Final = 1 << 20
"""Of one partition in one response; the first batch comes whole if it is larger."""
_TOPIC_NAMES_UP_TO: Final = 12


@dataclass(slots=True, kw_only=True, frozen=True)
class LogRead:
    """A part of a log: batches as the leader stores them, the last of them perhaps incomplete."""

    batches: bytes | memoryview
    high_watermark: int


class LogReadCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def read_logs(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, LogRead]:
        """Read each partition from the batch on that has its offset; raises ItemsFailed by partition."""
        wanted = {TopicPartition.of(key): offset for key, offset in offsets.items()}

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> FetchRequest:
            del version, timeout_ms
            topics: dict[str, FetchTopic] = {}
            for key in keys:
                topics.setdefault(key.topic, FetchTopic(topic=key.topic)).partitions.append(
                    FetchPartition(partition=key.partition, fetch_offset=wanted[key], partition_max_bytes=MAX_BYTES)
                )
            return FetchRequest(max_wait_ms=0, min_bytes=0, topics=list(topics.values()))

        def take(response: FetchResponse, _: list[TopicPartition], outcomes: Outcomes[TopicPartition, LogRead]) -> None:
            for topic in response.responses:
                for one in topic.partitions:
                    key = TopicPartition(topic.topic, one.partition_index)
                    data = one.records or b""
                    assert not isinstance(data, list), "a received field is one buffer"
                    read = LogRead(batches=data, high_watermark=one.high_watermark)
                    outcomes.take(key, one.error_code, None, read, retried=RETRIED, topic=topic.topic)

        call = ItemCall(kind=FetchRequest, route=LEADER, build=build, take=take, highest_version=_TOPIC_NAMES_UP_TO)
        return await self._calls.settle(list(wanted), call)
