from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.apis.find_coordinator import is_share_partition_key, partition_for
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SHARE_KEY = "g:AAAAAAAAAAAAAAAAAAAAEg:0"


def batch(*keys: str, key_type: int = 0) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))


@pytest.mark.parametrize("key_type", [0, 1, 2])
def test_the_first_request_gets_15_and_has_the_topic_created(bench: Callable[..., ApiBench], key_type: int) -> None:
    api = bench()
    request = batch(SHARE_KEY, key_type=key_type)
    (first,) = api.exchange(request, 6).coordinators
    assert (first.node_id, first.host, first.port, first.error_code, first.error_message) == (-1, "", -1, 15, "")
    api.settle()
    (second,) = api.exchange(request, 6).coordinators
    assert (second.key, second.node_id, second.error_code) == (SHARE_KEY, 1, 0)


def test_internal_topics_are_configured_as_kafka_does(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=3)
    api.exchange(batch("g"), 4)
    api.settle()
    topic = api.cluster.controller.image.topics["__consumer_offsets"]
    assert len(topic.partitions) == 50
    assert len(topic.partitions[0].replicas) == 3
    expected = {"cleanup.policy": "compact", "segment.bytes": "104857600", "compression.type": "producer"}
    assert topic.configs == expected


def test_coordinator_is_the_leader_of_the_keys_partition(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=3)
    api.exchange(batch("g"), 4)
    api.settle()
    topic = api.cluster.controller.image.topics["__consumer_offsets"]
    keys = ["a", "b", "group-7", ""]
    found = [response.node_id for response in api.exchange(batch(*keys), 4, broker_id=2).coordinators]
    assert found == [topic.partitions[partition_for(key, 50)].leader for key in keys]


@pytest.mark.parametrize(("version", "text"), [(0, None), (1, "The coordinator is not available."), (3, "NONE")])
def test_single_responses_have_texts_from_v1_on(bench: Callable[..., ApiBench], version: int, text: str | None) -> None:
    api = bench()
    request = FindCoordinatorRequest(key="g")
    if text == "NONE":
        api.exchange(request, version)
        api.settle()
    assert (api.exchange(request, version).error_message or None) == text


def test_unknown_key_type_fails_every_key(bench: Callable[..., ApiBench]) -> None:
    responses = bench().exchange(batch("a", "b", key_type=9), 4).coordinators
    assert [(response.key, response.error_code) for response in responses] == [("a", 42), ("b", 42)]
    assert responses[0].error_message.startswith("This most likely occurs because of a request being malformed")


def test_share_keys_need_v6_and_their_shape(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    assert api.exchange(batch(SHARE_KEY, key_type=2), 5).coordinators[0].error_code == 42
    assert api.exchange(batch("g", key_type=2), 6).coordinators[0].error_code == 42


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        (SHARE_KEY, True),
        ("g:h:AAAAAAAAAAAAAAAAAAAAEg:0", True),
        ("g:AAAAAAAAAAAAAAAAAAAAEg:-1", True),
        ("", False),
        ("g", False),
        ("g:AAAAAAAAAAAAAAAAAAAAEg", False),
        ("g:AAAAAAAAAAAAAAAAAAAAEg:x", False),
        ("g:xx:0", False),
        (":AAAAAAAAAAAAAAAAAAAAEg:0", False),
        (" :AAAAAAAAAAAAAAAAAAAAEg:0", False),
        ("g:AAAAAAAAAAAAAAAAAAAAEg==:0", True),
        ("g:AAAAAAAAAAAAAAAAAAAAEg=:0", False),
        ("g:AAAAAAAAAAAAAAAAAAA+/g:0", False),
        ("g:AAAAAAAAAAAAAAAAAAAAEg:0:", True),
        ("g:AAAAAAAAAAAAAAAAAAAAEg: 0", False),
        ("g:AAAAAAAAAAAAAAAAAAAAEg:1_0", False),
        ("g:AAAAAAAAAAAAAAAAAAAAEg:\u0663", True),
        ("g:AAAAAAAAAAAAAAAAAAAAEg:\U0001d7d9", False),
    ],
)
def test_share_partition_keys(key: str, valid: bool) -> None:
    assert is_share_partition_key(key) is valid


def test_partition_is_javas_hash() -> None:
    # "polygenelubricants" has Java's hash -2^31, whose absolute value does not fit.
    assert [partition_for(key, 50) for key in ("", "a", "group", "polygenelubricants")] == [0, 47, 47, 0]
