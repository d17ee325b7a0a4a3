from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.offset_requests import commit, delete, fetch, with_coordinator

if TYPE_CHECKING:
    from collections.abc import Callable


def results(response: Any) -> list[Any]:
    return [
        (topic.name, each.partition_index, each.error_code) for topic in response.topics for each in topic.partitions
    ]


def test_offsets_are_deleted_and_unknown_partitions_refused(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    commit(api, {("orders", 0): 1, ("orders", 1): 2})
    assert results(delete(api, {"orders": [0, 9], "nothing": [0]})) == [
        ("orders", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 0, ErrorCode.NONE),
        ("nothing", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [each[:3] for each in fetch(api, None)] == [("orders", 1, 2)]


@pytest.mark.parametrize(("group_id", "error"), [("", ErrorCode.INVALID_GROUP_ID), ("x", ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_request_for_no_group_fails_as_a_whole(bench: Callable[..., Any], group_id: str, error: ErrorCode) -> None:
    response = delete(with_coordinator(bench), {"orders": [0]}, group_id=group_id)
    assert (response.error_code, response.topics) == (error, [])


@pytest.mark.parametrize(("release", "again"), [("4.3.1", ErrorCode.NONE), ("3.9", ErrorCode.GROUP_ID_NOT_FOUND)])
def test_the_last_offset_ends_an_empty_group_before_4_0(
    bench: Callable[..., Any], release: str, again: ErrorCode
) -> None:
    api = with_coordinator(bench, release=release)
    commit(api, {("orders", 0): 1})
    assert delete(api, {"orders": [0]}).error_code == ErrorCode.NONE
    assert delete(api, {"orders": [0]}).error_code == again
