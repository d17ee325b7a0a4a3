from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.broker_sim.offset_requests import commit, fetch, with_coordinator

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("version", range(2, 10))
def test_null_topics_return_all_offsets_of_a_group(bench: Callable[..., Any], version: int) -> None:
    api = with_coordinator(bench)
    commit(api, {("orders", 2): 1, ("payments", 0): 9})
    assert sorted(each[:3] for each in fetch(api, None, version)) == [("orders", 2, 1), ("payments", 0, 9)]
    assert fetch(api, None, version, group_id="others") == []


@pytest.mark.parametrize("require_stable", [False, True])
def test_many_groups_have_their_own_results(bench: Callable[..., Any], *, require_stable: bool) -> None:
    api = with_coordinator(bench)
    commit(api, {("orders", 0): 1})
    topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
    groups = [OffsetFetchRequestGroup(group_id=name, topics=topics) for name in ("readers", "others")]
    response = api.exchange(OffsetFetchRequest(groups=groups, require_stable=require_stable), 8)
    assert [(each.group_id, each.topics[0].partitions[0].committed_offset) for each in response.groups] == [
        ("readers", 1),
        ("others", -1),
    ]


def test_a_topic_is_named_by_its_id_since_v10(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    commit(api, {("orders", 0): 1})
    topic_id = api.cluster.brokers[1].metadata_cache.image.topics["orders"].topic_id
    topics = [
        OffsetFetchRequestTopics(topic_id=b"?" * 16, partition_indexes=[4]),
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]),
    ]
    response = api.exchange(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="readers", topics=topics)]), 10)
    known, unknown = response.groups[0].topics
    assert (known.topic_id, known.partitions[0].committed_offset) == (topic_id, 1)
    [refused] = unknown.partitions
    assert (unknown.topic_id, refused.partition_index, refused.committed_offset, refused.error_code) == (
        b"?" * 16,
        4,
        -1,
        ErrorCode.UNKNOWN_TOPIC_ID,
    )


@pytest.mark.parametrize(("version", "error"), [(1, None), (5, ErrorCode.NOT_COORDINATOR)])
def test_the_error_of_a_group_is_that_of_its_partitions_before_v2(
    bench: Callable[..., Any], version: int, error: ErrorCode | None
) -> None:
    api = bench()
    topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[1])]
    response = api.exchange(OffsetFetchRequest(group_id="readers", topics=topics), version)
    if error is None:
        assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    else:
        assert (response.error_code, response.topics) == (error, [])
