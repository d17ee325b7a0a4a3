from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.groups.share.share_groups_bench import ShareGroupsBench

SESSION_MS = 45_000


def test_partitions_are_assigned_once_they_are_initialized(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    joined = share.heartbeat("m1", 0, ["orders"])
    assert (joined.error_code, joined.member_epoch, share.held(joined)) == (0, 2, {})
    assert sorted(share.states) == [(0, -1), (1, -1), (2, -1)]
    assigned = share.heartbeat("m1", 2)
    assert (assigned.member_epoch, share.held(assigned)) == (3, {"orders": [0, 1, 2]})
    unchanged = share.heartbeat("m1", 3)
    assert (unchanged.member_epoch, share.held(unchanged), unchanged.heartbeat_interval_ms) == (3, None, 5000)


def test_members_share_and_release_partitions(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    epoch = share.join("m1", "orders")
    second = share.heartbeat("m2", 0, ["orders"])
    first = share.heartbeat("m1", epoch)
    held = [share.held(first) or {}, share.held(second) or {}]
    assert sorted(partition for each in held for partition in each["orders"]) == [0, 1, 2]
    assert share.heartbeat("m2", -1).member_epoch == -1
    alone = share.heartbeat("m1", first.member_epoch)
    assert share.held(alone) == {"orders": [0, 1, 2]}


def test_a_silent_member_is_removed_after_its_session(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    epoch = share.join("m1", "orders")
    share.run(SESSION_MS - 1000)
    assert share.heartbeat("m1", epoch).error_code == 0
    share.run(SESSION_MS + 100)
    gone = share.heartbeat("m1", epoch)
    assert (gone.error_code, gone.error_message) == (
        ErrorCode.UNKNOWN_MEMBER_ID,
        "Member m1 is not a member of group g.",
    )
    assert (share.describe().group_state, share.describe().members) == ("Empty", [])


@pytest.mark.parametrize(("epoch", "code"), [(9, 110), (1, 110), (3, 0), (2, 0)])
def test_only_the_present_and_the_previous_epoch_are_valid(
    groups: Callable[..., ShareGroupsBench], epoch: int, code: int
) -> None:
    share = groups()
    assert share.join("m1", "orders") == 3
    assert share.heartbeat("m1", epoch).error_code == code


def test_unknown_groups_and_full_groups_are_refused(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups(group_share_max_size="1", group_share_max_share_sessions="1")
    unknown = share.heartbeat("m1", 5)
    assert (unknown.error_code, unknown.error_message) == (69, "Share group g not found.")
    share.join("m1", "orders")
    full = share.heartbeat("m2", 0, ["orders"])
    assert (full.error_code, full.error_message) == (
        81,
        "The share group has reached its maximum capacity of 1 members.",
    )


def test_a_changed_subscription_changes_the_assignment_at_once(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    epoch = share.join("m1", "orders")
    changed = share.heartbeat("m1", epoch, ["bills"])
    assert (changed.member_epoch, share.held(changed)) == (epoch + 1, {})
    assert share.held(share.heartbeat("m1", changed.member_epoch)) == {"bills": [0]}


def test_a_group_survives_a_restart_of_its_coordinator(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    epoch = share.join("m1", "orders")
    before: Any = share.describe()
    share.reactor.run_until(share.cluster.restart(1), deadline_ms=60_000)
    share.run(1000)
    assert share.describe() == before
    assert share.heartbeat("m1", epoch).error_code == 0
    share.run(SESSION_MS + 100)
    assert share.describe().group_state == "Empty"


def test_a_deleted_topic_is_forgotten(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    share.join("m1", "orders", "bills")
    assert sorted(name for name, _ in share.offsets()) == ["bills", "orders", "orders", "orders"]
    share.cluster.delete_topic("orders")
    share.run(200)
    assert list(share.offsets()) == [("bills", 0)]
    assert len(share.states) == 1


def test_the_journal_has_the_life_of_a_group(groups: Callable[..., ShareGroupsBench]) -> None:
    share = groups()
    share.join("m1", "bills")
    share.heartbeat("m1", -1)
    events = [event for event in share.cluster.journal.events if event.kind.startswith("Group")]
    assert [event.kind for event in events] == [
        "GroupMemberJoined",
        "GroupStateChanged",
        "GroupMemberAssigned",
        "GroupMemberRemoved",
        "GroupStateChanged",
    ]
    joined, stable, assigned, removed, empty = events
    assert (joined.member_id, joined.client_id) == ("m1", "tests")
    assert (stable.group_type, stable.state, stable.members) == ("share", "Stable", 1)
    assert (assigned.generation, assigned.assignment) == (3, "bills-0")
    assert (removed.reason, empty.state, empty.members) == ("the member left the group.", "Empty", 0)
