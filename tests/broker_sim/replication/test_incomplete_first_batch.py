"""The sizes are those that a real 2.0.1 returns with `log.message.format.version=0.10.2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.message_set_builder import MessageSetBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGE_BYTES = 2_082


class OldTopic:
    """A cluster of 2.0 whose topic has three messages of MESSAGE_BYTES, in the format of `format_version`."""

    def __init__(self, replicas: Callable[..., Any], format_version: str = "0.10.2") -> None:
        self.replicas = replicas(
            release="2.0", brokers=1, replication_factor=1, config={"log.message.format.version": format_version}
        )
        builder = MessageSetBuilder(magic=1)
        for value in (b"a", b"b", b"c"):
            builder.append(1_500_000_000_000, None, value * 2_048)
        data = [PartitionProduceData(index=0, records=builder.build())]
        self._call(
            ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)]), 2
        )

    def _call(self, request: Any, version: int) -> Any:
        calls = PlainCalls(self.replicas.cluster.broker(1))
        received = type(request).decode(version, request.encode(version))
        response = self.replicas.world.run_until(calls.call(received, version), deadline_ms=10_000)
        return type(response).decode(version, response.encode(version))

    def fetch(self, limit: int, version: int, *, offset: int = 0) -> bytes:
        """Return the bytes of the records."""
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=limit)
        topics = [FetchTopic(topic="t", partitions=[partition])]
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics)
        return bytes(self._call(request, version).responses[0].partitions[0].records)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("limit", [1, 12, 50, MESSAGE_BYTES - 1])
@pytest.mark.parametrize("offset", [0, 1])
def test_an_old_fetch_gets_the_beginning_of_a_message_beyond_its_limit(
    replicas: Callable[..., Any], version: int, limit: int, offset: int
) -> None:
    topic = OldTopic(replicas)
    whole = topic.fetch(1 << 20, 2, offset=offset)
    assert len(whole) == (3 - offset) * MESSAGE_BYTES
    assert topic.fetch(limit, version, offset=offset) == whole[:limit]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_without_bytes_there_is_no_beginning(replicas: Callable[..., Any], version: int) -> None:
    assert OldTopic(replicas).fetch(0, version) == b""


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("limit", [MESSAGE_BYTES, MESSAGE_BYTES + 1, 3_000, 2 * MESSAGE_BYTES])
def test_messages_that_need_no_conversion_end_with_the_beginning_of_the_next(
    replicas: Callable[..., Any], version: int, limit: int
) -> None:
    topic = OldTopic(replicas)
    assert topic.fetch(limit, version) == topic.fetch(1 << 20, version)[:limit]


def test_a_newer_fetch_gets_one_whole_message(replicas: Callable[..., Any]) -> None:
    assert len(OldTopic(replicas).fetch(50, 3)) == MESSAGE_BYTES


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_batch_of_magic_2_has_no_beginning(replicas: Callable[..., Any], version: int) -> None:
    assert OldTopic(replicas, "2.0").fetch(50, version) == b""
