from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def creating(*names: str, **fields: Any) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=fields.pop("timeout_ms", 1000), **fields)


@pytest.mark.parametrize("version", range(2, 8))
def test_topic_is_there_on_every_broker_soon_after_the_response(bench: Callable[..., ApiBench], version: int) -> None:
    api = bench(brokers=2)
    (result,) = api.exchange(creating("new"), version).topics
    assert (result.name, result.error_code, result.error_message) == ("new", 0, None)
    api.settle()
    for broker in api.cluster.brokers.values():
        assert len(broker.metadata_cache.image.topics["new"].partitions) == 2
    if version >= 7:
        assert result.topic_id == api.cluster.controller.image.topics["new"].topic_id


def test_second_creation_is_refused(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    api.exchange(creating("new"), 7)
    (result,) = api.exchange(creating("new"), 7).topics
    assert (result.error_code, result.error_message) == (36, "Topic 'new' already exists.")


def test_validation_leaves_nothing_behind(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    (result,) = api.exchange(creating("new", validate_only=True), 7).topics
    assert result.error_code == 0
    assert not api.cluster.controller.image.topics


def test_unreachable_controller_times_out_topic_by_topic(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2)
    api.cluster.isolate(1)
    response = api.exchange(creating("a", "b"), 7)
    assert [(result.name, result.error_code) for result in response.topics] == [("a", 7), ("b", 7)]


def test_same_seed_creates_the_same_topics(bench: Callable[..., ApiBench]) -> None:
    runs = [bench(brokers=3, seed=4) for _ in range(2)]
    for api in runs:
        api.exchange(creating("a", "b", "c"), 7)
    first, second = (api.cluster.controller.image.topics for api in runs)
    assert first == second
