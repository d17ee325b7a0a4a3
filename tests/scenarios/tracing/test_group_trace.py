"""The trace of a group, from its events."""

from __future__ import annotations

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.group_trace import group_list, trace_group
from broker_scenarios.tracing.timeline_html import render_timeline
from broker_scenarios.tracing.timeline_text import timeline_lines
from broker_sim.control.events import (
    BrokerKilled,
    CoordinatorLoaded,
    GroupMemberAssigned,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupRequestRefused,
    GroupStateChanged,
    HighWatermarkAdvanced,
    OffsetCommitted,
    OffsetRemoved,
    ShareRecordsChanged,
)


def changed(
    at_ms: int, previous: str, state: str, generation: int, members: int, reason: str = ""
) -> GroupStateChanged:
    return GroupStateChanged(
        time_us=at_ms * 1000, broker_id=1, group_id="orders", group_type="classic", previous=previous, state=state,
        generation=generation, members=members, reason=reason,
    )  # fmt: skip


def of_member(kind, at_ms: int, member_id: str, **values):
    return kind(time_us=at_ms * 1000, broker_id=1, group_id="orders", member_id=member_id, **values)


EVENTS = [
    changed(10, "Empty", "PreparingRebalance", 0, 1, "a member joins"),
    of_member(GroupMemberJoined, 10, "c-1", client_id="c", client_host="/127.0.0.1"),
    of_member(GroupMemberJoined, 12, "c-2", client_id="c", client_host="/127.0.0.1"),
    changed(20, "PreparingRebalance", "CompletingRebalance", 1, 2),
    changed(30, "CompletingRebalance", "Stable", 1, 2),
    of_member(GroupMemberAssigned, 30, "c-1", generation=1, assignment="orders-0"),
    of_member(GroupMemberAssigned, 30, "c-2", generation=1, assignment=""),
    of_member(OffsetCommitted, 40, "c-1", generation=1, topic="orders", partition=0, offset=7),
    GroupMemberJoined(
        time_us=41_000, broker_id=1, group_id="other", member_id="x", client_id="x", client_host="/127.0.0.1"
    ),
    BrokerKilled(time_us=50_000, broker_id=1),
    CoordinatorLoaded(time_us=60_000, broker_id=2, topic="__consumer_offsets", partition=3, records=4, leader_epoch=1),
    of_member(GroupMemberRemoved, 70, "c-2", reason="the session has ended"),
    of_member(GroupRequestRefused, 80, "c-2", api="Heartbeat", error="UNKNOWN_MEMBER_ID"),
    OffsetRemoved(time_us=90_000, broker_id=2, group_id="orders", topic="orders", partition=0, reason="expired"),
]
JOURNAL = list(enumerate(EVENTS, 1))


def test_a_group_is_a_lane_of_states_and_a_lane_per_member():
    timeline = trace_group(JOURNAL, "orders")
    assert timeline.title == "group orders: 2 members joined, generation 1"
    lanes = {
        lane: [(stage.name, stage.start_us, stage.end_us) for stage in stages]
        for lane, stages in timeline.lanes.items()
    }
    assert lanes == {
        "group": [
            ("PreparingRebalance", 0, 10_000),
            ("CompletingRebalance", 10_000, 20_000),
            ("Stable", 20_000, 80_000),
        ],
        "c #2": [("member", 2_000, 60_000)],
        "c": [("member", 0, 80_000)],
    }
    assert timeline.lane_notes == {"group": "Stable", "c": "orders-0", "c #2": "the session has ended"}


def test_each_event_is_a_sentence():
    timeline = trace_group(JOURNAL, "orders")
    assert [(moment.at_us // 1000, moment.text) for moment in timeline.moments] == [
        (0, "Empty > PreparingRebalance, generation 0, members: 1; a member joins"),
        (0, "c joins from /127.0.0.1: c-1"),
        (2, "c #2 joins from /127.0.0.1: c-2"),
        (10, "PreparingRebalance > CompletingRebalance, generation 1, members: 2"),
        (20, "CompletingRebalance > Stable, generation 1, members: 2"),
        (20, "c is assigned orders-0 in generation 1"),
        (20, "c #2 is assigned no partitions in generation 1"),
        (30, "offset 7 of orders-0 is committed by c"),
        (40, "broker 1 is killed"),
        (50, "broker 2 coordinates __consumer_offsets-3 after a replay of 4 records"),
        (60, "c #2 is removed: the session has ended"),
        (70, "Heartbeat of c #2 is refused: UNKNOWN_MEMBER_ID"),
        (80, "the offset of orders-0 is removed: expired"),
    ]
    assert [moment.text for moment in timeline.moments if not moment.own] == [
        "broker 1 is killed",
        "broker 2 coordinates __consumer_offsets-3 after a replay of 4 records",
    ]


def test_it_can_be_printed_and_drawn():
    timeline = trace_group(JOURNAL, "orders")
    text = "\n".join(timeline_lines(timeline))
    assert "█ Stable" in text
    assert "the session has ended" in text
    assert "CompletingRebalance" in render_timeline(timeline)


def test_groups_are_listed_and_a_wrong_name_gets_the_nearest():
    assert group_list(JOURNAL) == ["orders  11 events", "other   1 events"]
    assert group_list([]) == ["no group has members or offsets"]
    with pytest.raises(ScenarioError, match=r"no group is 'order' \(--group\).*orders"):
        trace_group(JOURNAL, "order")


def test_a_commit_has_the_lag_behind_the_high_watermark():
    commit = of_member(OffsetCommitted, 5, "", generation=-1, topic="orders", partition=0, offset=7)
    moved = HighWatermarkAdvanced(
        time_us=4000, broker_id=1, topic="orders", partition=0, high_watermark=10, leader_epoch=0
    )
    timeline = trace_group([(1, moved), (2, commit)], "orders")
    assert [moment.text for moment in timeline.moments] == ["offset 7 of orders-0 is committed, lag 3"]


def test_a_group_that_only_commits_has_no_states():
    commit = of_member(OffsetCommitted, 5, "", generation=-1, topic="orders", partition=0, offset=7)
    timeline = trace_group([(1, commit)], "orders")
    assert timeline.stages == []
    assert [moment.text for moment in timeline.moments] == ["offset 7 of orders-0 is committed"]


def share(at_ms: int, member_id: str, state: str, first: int, last: int, reason: str = "") -> ShareRecordsChanged:
    return of_member(
        ShareRecordsChanged, at_ms, member_id, topic="orders", partition=0, first_offset=first, last_offset=last,
        state=state, delivery_count=1, reason=reason,
    )  # fmt: skip


def test_a_share_partition_is_a_lane_of_the_times_at_which_members_hold_records():
    journal = [
        EVENTS[1],
        share(20, "c-1", "ACQUIRED", 0, 9),
        share(30, "c-1", "ACKNOWLEDGED", 0, 4),
        share(40, "c-1", "ARCHIVED", 5, 5),
        share(50, "c-1", "AVAILABLE", 6, 9, "the acquisition lock has expired"),
        share(70, "c-1", "ACQUIRED", 6, 9),
        share(80, "c-1", "ACKNOWLEDGED", 6, 6),
    ]
    timeline = trace_group(list(enumerate(journal, 1)), "orders")
    acquired = [(stage.start_us // 1000, stage.end_us // 1000) for stage in timeline.lanes["orders-0"]]
    assert acquired == [(10, 40), (60, 70)]
    assert timeline.lane_notes["orders-0"] == "6 acknowledged, 1 archived"
    assert "c acquires orders-0, offsets 0 to 9 (delivery 1)" in [moment.text for moment in timeline.moments]


def test_a_member_ends_when_its_coordinator_does_not_know_it_or_the_group_is_empty():
    events = [
        of_member(GroupMemberJoined, 10, "a", client_id="a", client_host="/127.0.0.1"),
        of_member(GroupMemberJoined, 10, "b", client_id="b", client_host="/127.0.0.1"),
        CoordinatorLoaded(
            time_us=20_000, broker_id=2, topic="__consumer_offsets", partition=3, records=4, leader_epoch=1
        ),
        of_member(GroupRequestRefused, 30, "a", api="JoinGroup", error="UNKNOWN_MEMBER_ID"),
        of_member(GroupRequestRefused, 35, "b", api="JoinGroup", error="REBALANCE_IN_PROGRESS"),
        changed(50, "PreparingRebalance", "Empty", 2, 0),
        changed(90, "Empty", "Dead", 2, 0),
    ]
    timeline = trace_group(list(enumerate(events, 1)), "orders")
    ends = {lane: [stage.end_us for stage in stages] for lane, stages in timeline.lanes.items() if lane != "group"}
    assert ends == {"a": [20_000], "b": [40_000]}
    assert timeline.lane_notes["a"] == "the coordinator does not know it"
