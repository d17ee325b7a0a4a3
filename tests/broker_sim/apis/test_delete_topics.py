from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


@pytest.mark.parametrize("version", range(1, 7))
def test_topic_is_gone_after_the_response(bench: Callable[..., ApiBench], version: int) -> None:
    api = bench(topics=[TopicSpec(name="old")])
    if version >= 6:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="old")], timeout_ms=1000)
    else:
        request = DeleteTopicsRequest(topic_names=["old"], timeout_ms=1000)
    (result,) = api.exchange(request, version).responses
    assert (result.name, result.error_code) == ("old", 0)
    api.settle()
    assert not api.cluster.brokers[1].metadata_cache.image.topics


def test_id_of_a_deleted_topic_is_unknown_and_a_new_topic_has_another(bench: Callable[..., ApiBench]) -> None:
    api = bench(topics=[TopicSpec(name="old")])
    topic_id = api.cluster.controller.image.topics["old"].topic_id
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)], timeout_ms=1000)
    assert api.exchange(request, 6).responses[0].name == "old"
    result = api.exchange(request, 6).responses[0]
    assert (result.name, result.error_code) == (None, 100)


@pytest.mark.parametrize(("version", "error_code"), [(2, 42), (3, 73), (6, 73)])
def test_deletion_can_be_switched_off(bench: Callable[..., ApiBench], version: int, error_code: int) -> None:
    api = bench(topics=[TopicSpec(name="old")], config={"delete.topic.enable": "false"})
    if version >= 6:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="old")], timeout_ms=1000)
    else:
        request = DeleteTopicsRequest(topic_names=["old"], timeout_ms=1000)
    assert api.exchange(request, version).responses[0].error_code == error_code
    assert "old" in api.cluster.controller.image.topics
