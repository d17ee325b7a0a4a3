from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.groups.share.share_groups_bench import ShareGroupsBench


def codes(response: Any) -> list[tuple[str, int, int]]:
    return [
        (topic.topic_name, each.partition_index, each.error_code)
        for topic in response.responses
        for each in topic.partitions
    ]


def test_offsets_are_altered_in_a_group_that_it_creates(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    response = share.alter("orders", {0: 7, 9: 1})
    assert (response.error_code, codes(response)) == (0, [("orders", 0, 0), ("orders", 9, 3)])
    share.run(100)
    assert share.states == [(0, 7)]
    assert share.offsets() == {("orders", 0): (7, -7)}
    assert share.describe().group_state == "Empty"


def test_offsets_of_a_group_with_members_stay(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    share.join("m1", "orders")
    altered = share.alter("orders", {0: 7})
    assert (altered.error_code, altered.error_message) == (ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    deleted = share.delete_offsets("orders")
    assert (deleted.error_code, deleted.error_message) == (ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    assert share.delete_group() == ErrorCode.NON_EMPTY_GROUP
    assert len(share.states) == 3


def test_offsets_are_deleted_by_topic(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    share.join("m1", "orders", "bills")
    share.heartbeat("m1", -1)
    response = share.delete_offsets("orders", "unknown")
    assert [(each.topic_name, each.error_code, each.error_message) for each in response.responses] == [
        ("orders", 0, None),
        ("unknown", 3, "This server does not host this topic-partition."),
    ]
    assert list(share.offsets()) == [("bills", 0)]
    [again] = share.delete_offsets("orders").responses
    assert (again.error_code, again.error_message) == (3, "There is no offset information to delete.")


def test_a_deleted_group_has_no_state(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    share.join("m1", "orders")
    share.heartbeat("m1", -1)
    assert share.delete_group() == 0
    assert share.states == []
    assert share.describe().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert share.delete_group() == ErrorCode.GROUP_ID_NOT_FOUND


def test_partitions_without_state_have_no_offset(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    assert share.offsets(orders=[1], unknown=[0]) == {("orders", 1): (-1, -1), ("unknown", 0): (-1, -1)}


def test_a_negative_partition_fails_the_request_and_the_deletion(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    response = share.alter("orders", {-1: 1})
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert response.error_message.startswith("Initialize share group parameters has invalid partitionId - g ")
    assert share.delete_group() == ErrorCode.UNKNOWN_SERVER_ERROR
