"""Fetch responses one by one, from a leader that the test plays: order, refusals, broken batches, new leaders."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from broker_client.core.consumer.fetch_buffer import FetchBuffer
from broker_client.core.consumer.fetched_table import table_of
from broker_client.core.consumer.fetcher import Fetcher, FetchOptions
from broker_client.core.consumer.subscription_state import FetchPosition, SubscriptionState
from broker_client.core.metrics.consumer_metrics import ConsumerMetrics, MetricOptions
from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.cluster import Cluster, TopicMetadata
from broker_client.core.network.cluster import Node as ClusterNode
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.errors import ConnectionFailed, ProducerError, TopicAuthorizationFailed
from broker_client.records import PartitionInfo, TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
BACKOFF_S: Final = 0.1


class PlayedMetadata:
    """Counts the requests."""

    def __init__(self) -> None:
        self.updates = 0
        self.leaders: dict[TopicPartition, Any] = {}
        self.nodes: list[ClusterNode] = []

    def request_update(self) -> int:
        self.updates += 1
        return 0

    def update_leaders(self, leaders: dict[TopicPartition, Any], nodes: list[ClusterNode]) -> tuple[()]:
        self.leaders, self.nodes = leaders, nodes
        return ()


class PlayedCore:
    """Keeps requests until the test responds to them."""

    def __init__(self) -> None:
        self.reactor = Clock()
        self.options = ClientOptions(bootstrap_servers=(), network=NetworkClientConfig(client_id="c"))
        self.metadata = PlayedMetadata()
        self.requests: list[tuple[FetchRequest, Deferred[FetchResponse]]] = []

    def request(
        self, kind: Any, build: Callable[[int], FetchRequest], *, node_id: int, **limits: int | None
    ) -> Deferred[FetchResponse]:
        del kind, node_id, limits
        response: Deferred[FetchResponse] = Deferred()
        self.requests.append((build(12), response))
        return response


@dataclass
class Room:
    """A fetcher of two partitions with one leader."""

    core: PlayedCore = field(default_factory=PlayedCore)
    subscriptions: SubscriptionState = field(default_factory=SubscriptionState)
    default_reset: int | None = None
    events: int = 0

    def __post_init__(self) -> None:
        partitions = tuple(
            PartitionInfo(
                topic="t",
                partition=number,
                leader=1,
                leader_epoch=3,
                replicas=(1,),
                in_sync_replicas=(1,),
                offline_replicas=(),
            )
            for number in (0, 1)
        )
        topic = TopicMetadata(name="t", topic_id=None, partitions=partitions)
        self.cluster = Cluster(nodes={1: ClusterNode(1, "h", 1)}, topics={"t": topic})
        self.subscriptions.assign([FIRST, SECOND])
        for key in (FIRST, SECOND):
            self.subscriptions.seek(key, FetchPosition(offset=0))
        options = FetchOptions()
        self.metrics = ConsumerMetrics(
            ClientCore(self.core.options, self.core.reactor, Random(0)),  # type: ignore[arg-type]
            MetricOptions(),
            self.subscriptions,
            group_protocol=None,
        )
        self.buffer = FetchBuffer(self.core, self.subscriptions, options, self, self.metrics.fetches)  # type: ignore[arg-type]
        self.fetcher = Fetcher(self.core, self.subscriptions, options, self.buffer, self._count, self.metrics)  # type: ignore[arg-type]

    def _count(self) -> None:
        self.events += 1

    def send_request(self) -> FetchRequest | None:
        """The present request, None without one."""
        before = len(self.core.requests)
        self.fetcher.send_fetches(self.cluster, at_once=False)
        return self.core.requests[-1][0] if len(self.core.requests) > before else None

    def response(self, *partitions: PartitionData, endpoints: tuple[NodeEndpoint, ...] = ()) -> None:
        topic = FetchableTopicResponse(topic="t", partitions=list(partitions))
        self.core.requests[-1][1].callback(FetchResponse(responses=[topic], node_endpoints=list(endpoints)))

    def values(self, count_max: int = 500) -> list[bytes | None]:
        return [record.value for portion in self.buffer.take_records(count_max) for record in portion.rows()]


def records(offset: int, *values: bytes) -> bytes:
    builder = RecordBatchBuilder(base_offset=offset, partition_leader_epoch=3)
    for value in values:
        builder.append(0, None, value)
    return builder.build()


def data(partition: int, batch: bytes = b"", code: ErrorCode = ErrorCode.NONE, **more: Any) -> PartitionData:
    return PartitionData(
        partition_index=partition, error_code=code, high_watermark=9, records=memoryview(batch), **more
    )


def test_a_leader_gets_one_fetch_at_a_time_from_the_last_position() -> None:
    room = Room()
    requested = room.send_request()
    assert requested is not None
    assert [(one.partition, one.fetch_offset, one.current_leader_epoch) for one in requested.topics[0].partitions] == [
        (0, 0, 3),
        (1, 0, 3),
    ]
    assert room.send_request() is None
    room.response(data(0, records(0, b"a", b"b")), data(1))
    assert room.events == 1
    assert room.send_request() is None  # a partition of the leader waits to be collected
    assert room.values() == [b"a", b"b"]
    requested = room.send_request()
    assert requested is not None
    assert [(one.partition, one.fetch_offset) for one in requested.topics[0].partitions] == [(0, 2), (1, 0)]
    room.response(data(0), data(1, records(0, b"c")))
    assert room.values() == [b"c"]


def test_a_broken_batch_is_reported_after_earlier_records_and_can_be_skipped() -> None:
    room = Room()
    broken = bytearray(records(1, b"broken"))
    broken[-2] ^= 1
    room.send_request()
    room.response(data(0, records(0, b"a")), data(1, bytes(broken)))
    assert room.values() == [b"a"]
    with pytest.raises(ProducerError, match=r"a batch of t-1 at offset 0 cannot be read: .*; seek past it to read on"):
        room.buffer.take_records(500)
    assert room.values() == []
    room.subscriptions.seek(SECOND, FetchPosition(offset=2))
    requested = room.send_request()
    assert requested is not None
    assert [one.fetch_offset for one in requested.topics[0].partitions] == [1, 2]


def test_a_new_leader_in_a_response_is_used_after_a_pause() -> None:
    room = Room()
    room.send_request()
    moved = data(0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=4))
    room.response(moved, data(1), endpoints=(NodeEndpoint(node_id=2, host="h", port=2),))
    leader = room.core.metadata.leaders[FIRST]
    assert (leader.leader_id, leader.leader_epoch) == (2, 4)
    assert [node.port for node in room.core.metadata.nodes] == [2]
    assert room.values() == []
    assert room.core.metadata.updates == 1
    requested = room.send_request()
    assert requested is not None
    assert [one.partition for one in requested.topics[0].partitions] == [1]
    room.response(data(1))
    assert room.send_request() is None  # what came has to be read first
    assert room.values() == []
    room.core.reactor.advance(BACKOFF_S)
    requested = room.send_request()
    assert requested is not None
    assert [one.partition for one in requested.topics[0].partitions] == [0, 1]


def test_a_lost_connection_is_no_error_and_a_refusal_is_one_once() -> None:
    room = Room()
    room.send_request()
    room.core.requests[-1][1].errback(ConnectionFailed("gone"))
    assert room.values() == []
    assert room.send_request() is None
    room.core.reactor.advance(BACKOFF_S)
    room.send_request()
    room.response(data(0, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED), data(1, records(0, b"c")))
    with pytest.raises(TopicAuthorizationFailed):
        room.buffer.take_records(500)
    assert room.values() == [b"c"]


def test_paused_partitions_wait_and_unassigned_ones_are_dropped() -> None:
    room = Room()
    room.send_request()
    room.subscriptions.pause([FIRST], paused=True)
    room.response(data(0, records(0, b"a")), data(1, records(0, b"c")))
    room.subscriptions.assign([FIRST])
    assert room.values() == []
    room.subscriptions.pause([FIRST], paused=False)
    assert room.send_request() is None
    assert room.values() == [b"a"]


def test_a_poll_returns_at_most_so_many_records_and_moves_the_position_with_them() -> None:
    room = Room()
    room.send_request()
    room.response(data(0, records(0, b"a", b"b", b"c") + records(3, b"d")), data(1, records(0, b"x")))

    def position() -> int:
        found = room.subscriptions.states[FIRST].position
        assert found is not None
        return found.offset

    assert room.values(2) == [b"a", b"b"]
    assert position() == 2
    assert room.values(1) == [b"c"]
    assert position() == 3
    assert room.values(2) == [b"d", b"x"]
    assert position() == 4


def test_a_table_begins_where_the_records_of_a_poll_ended() -> None:
    room = Room()
    room.send_request()
    room.response(data(0, records(0, b"a", b"b", b"c")), data(1))
    assert room.values(1) == [b"a"]
    assert table_of(room.buffer.take_batches())["value"].to_pylist() == [b"b", b"c"]
    assert room.values() == []
