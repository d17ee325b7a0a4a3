"""Throttled replication: what counts, how fast it may go, and how long a reassignment then takes."""

from __future__ import annotations

import math

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.quotas.rate import SimpleRate
from broker_sim.quotas.replication_quotas import ReplicationQuotas, throttled_size
from broker_sim.topic_partition import TopicPartition
from protocol_specs.framing import encode_response
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData

T0 = TopicPartition("t", 0)


def quotas_at(now_ms: list[int], **configs: str) -> ReplicationQuotas:
    config = BrokerConfig.parse({name.replace("_", "."): value for name, value in configs.items()})
    return ReplicationQuotas(config, broker_id=1, now_ms=lambda: now_ms[0])


def rated(quotas: ReplicationQuotas, **own: str) -> None:
    config = BrokerConfig.parse({})
    names = {f"{name}.replication.throttled.rate": value for name, value in own.items()}
    quotas.reconfigure(config, config.with_dynamic({}, names))


@pytest.mark.parametrize(
    ("replicas", "throttled"),
    [
        ("*", [0, 1, 2]),
        ("0:1,2:1,1:2", [0, 2]),
        ("1:2", []),
        ("0:1,,", [0]),
        ("", []),
        (",", []),
    ],
)
def test_a_topic_names_its_throttled_replicas(replicas: str, throttled: list[int]) -> None:
    quotas = quotas_at([0])
    quotas.topic_changed("t", {"leader.replication.throttled.replicas": replicas})
    assert [index for index in range(3) if quotas.leader.is_throttled(TopicPartition("t", index))] == throttled
    assert not quotas.follower.is_throttled(T0)
    assert quotas.leader.active == bool(replicas.strip(","))
    quotas.topic_changed("t", {})
    assert not quotas.active


def test_a_list_with_an_empty_item_leaves_the_throttle_as_it_was() -> None:
    quotas = quotas_at([0])
    for replicas in ("0:1", "1:1,,2:1", ",1:1"):
        quotas.topic_changed("t", {"leader.replication.throttled.replicas": replicas})
        assert [index for index in range(3) if quotas.leader.is_throttled(TopicPartition("t", index))] == [0]


def test_a_rate_begins_with_one_window_and_grows_to_all_of_them() -> None:
    rate = SimpleRate(bound=math.inf, samples=3, window_ms=1_000)
    rate.record(1_000, 0)
    assert rate.measure(0) == 1_000
    assert rate.measure(500) == 1_000
    assert rate.measure(2_000) == 500
    rate.record(3_000, 2_500)
    assert rate.measure(2_500) == 1_600
    assert rate.measure(4_000) == 2_000, "the first window is older than all three"


def test_bytes_beyond_the_rate_exceed_it_until_enough_time_has_passed() -> None:
    now_ms = [0]
    quotas = quotas_at(now_ms)
    rated(quotas, leader="1000")
    assert not quotas.leader.is_exceeded
    quotas.leader.record(5_000)
    seconds = 0
    while quotas.leader.is_exceeded:
        seconds += 1
        now_ms[0] = seconds * 1_000
    assert seconds == 5
    quotas.leader.record(5_000)
    rated(quotas, leader="1000000")
    assert not quotas.leader.is_exceeded


def test_each_broker_has_a_rate_of_its_own_or_everybodys_or_none() -> None:
    quotas = quotas_at([0])
    config = BrokerConfig.parse({})
    everybody = {"leader.replication.throttled.rate": "10", "follower.replication.throttled.rate": "20"}
    quotas.reconfigure(config, config.with_dynamic(everybody, {"leader.replication.throttled.rate": "30"}))
    assert (quotas.leader.bytes_per_second, quotas.follower.bytes_per_second) == (30, 20)
    quotas.reconfigure(config, config.with_dynamic({}, {}))
    assert (quotas.leader.bytes_per_second, quotas.follower.bytes_per_second) == (math.inf, math.inf)


@pytest.mark.parametrize("version", [4, 11, 12, 16])
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 20_000])
def test_the_leader_counts_the_response_as_on_the_wire(version: int, size: int) -> None:
    quotas = quotas_at([0])
    quotas.topic_changed("t", {"leader.replication.throttled.replicas": "0:1"})
    data = PartitionData(
        partition_index=0, error_code=0, high_watermark=7, records=b"x" * size, aborted_transactions=None
    )
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", topic_id=b"\1" * 16, partitions=[data])])
    counted = throttled_size(
        version,
        [
            (T0, b"\1" * 16, data),
            (TopicPartition("t", 1), b"\1" * 16, PartitionData(partition_index=1, error_code=0, high_watermark=0)),
        ],
        quotas.leader,
    )
    # FetchResponse.sizeOf counts the size field, and no header.
    frame = encode_response(response, version, correlation_id=0)
    assert counted == len(frame) - 4 - (1 if version >= 12 else 0)
