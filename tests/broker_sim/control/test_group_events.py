"""One line per event of a group, with short names for members."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import (
    GroupMemberAssigned,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupRequestRefused,
    GroupStateChanged,
    OffsetCommitted,
    OffsetRemoved,
    ShareRecordsChanged,
)
from broker_sim.control.group_events import group_event_text, member_names

WHERE: dict[str, Any] = {"time_us": 0, "broker_id": 1, "group_id": "g"}


def joined(member_id: str, client_id: str, group_instance_id: str | None = None) -> GroupMemberJoined:
    return GroupMemberJoined(
        **WHERE,
        member_id=member_id,
        client_id=client_id,
        client_host="/127.0.0.1",
        group_instance_id=group_instance_id,
    )


def share(state: str, first: int, last: int, *, member_id: str = "m", reason: str = "") -> ShareRecordsChanged:
    return ShareRecordsChanged(
        **WHERE,
        member_id=member_id,
        topic="t",
        partition=0,
        first_offset=first,
        last_offset=last,
        state=state,
        delivery_count=2,
        reason=reason,
    )


def test_members_with_one_client_id_are_numbered_and_static_ones_have_their_own_names() -> None:
    events = [joined("m-1", "c"), joined("m-2", "c"), joined("m-1", "c"), joined("m-3", "c", "i"), joined("m-4", "")]
    assert member_names(events) == {"m-1": "c", "m-2": "c #2", "m-3": "i", "m-4": "m-4"}


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (joined("m", "c"), "c joins from /127.0.0.1: m"),
        (GroupMemberRemoved(**WHERE, member_id="m", reason="it left"), "c is removed: it left"),
        (
            GroupStateChanged(
                **WHERE, group_type="classic", previous="Stable", state="Empty", generation=2, members=0, reason="why"
            ),
            "Stable > Empty, generation 2, members: 0; why",
        ),
        (
            GroupMemberAssigned(**WHERE, member_id="m", generation=2, assignment=""),
            "c is assigned no partitions in generation 2",
        ),
        (
            GroupRequestRefused(**WHERE, member_id="", api="SyncGroup", error="UNKNOWN_MEMBER_ID"),
            "SyncGroup of a client without a member id is refused: UNKNOWN_MEMBER_ID",
        ),
        (
            OffsetCommitted(**WHERE, member_id="x", generation=2, topic="t", partition=0, offset=5),
            "offset 5 of t-0 is committed by x",
        ),
        (share("ACQUIRED", 7, 9), "c acquires t-0, offsets 7 to 9 (delivery 2)"),
        (share("ACKNOWLEDGED", 7, 7), "c accepts t-0, offset 7 (delivery 2)"),
        (share("AVAILABLE", 8, 8), "c releases t-0, offset 8 (delivery 2)"),
        (share("ARCHIVED", 8, 8), "c rejects t-0, offset 8 (delivery 2)"),
        (
            share("ARCHIVED", 8, 8, reason="acknowledged as a gap"),
            "t-0, offset 8 (delivery 2) of c is archived: acknowledged as a gap",
        ),
        (
            share("AVAILABLE", 8, 9, reason="the acquisition lock has expired"),
            "t-0, offsets 8 to 9 (delivery 2) of c are available again: the acquisition lock has expired",
        ),
        (
            share("ARCHIVED", 8, 8, member_id="", reason="below the start of the log"),
            "t-0, offset 8 (delivery 2) is archived: below the start of the log",
        ),
        (OffsetRemoved(**WHERE, topic="t", partition=0, reason="expired"), "the offset of t-0 is removed: expired"),
    ],
)
def test_each_event_has_a_line(event: Any, text: str) -> None:
    assert group_event_text(event, {"m": "c"}) == text
