"""The events of groups as text, for the trace of a group and for the report of a failed test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

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
from sim_runtime.spelling import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.control.events import Event

__all__ = ["GROUP_EVENTS", "GroupEvent", "group_event_text", "member_names", "numbered"]

GroupEvent: TypeAlias = (
    GroupStateChanged
    | GroupMemberJoined
    | GroupMemberRemoved
    | GroupMemberAssigned
    | GroupRequestRefused
    | OffsetCommitted
    | OffsetRemoved
    | ShareRecordsChanged
)
GROUP_EVENTS: Final = (
    GroupStateChanged,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupMemberAssigned,
    GroupRequestRefused,
    OffsetCommitted,
    OffsetRemoved,
    ShareRecordsChanged,
)
"""The events that belong to one group."""
_SHARE_VERBS: Final = {
    "ACQUIRED": "acquires",
    "ACKNOWLEDGED": "accepts",
    "AVAILABLE": "releases",
    "ARCHIVED": "rejects",
}
_SHARE_STATES: Final = {"AVAILABLE": "available again", "ARCHIVED": "archived"}


def member_names(events: Iterable[Event]) -> dict[str, str]:
    """Return a short name per member id of one group: the instance id of a static member, else its client id.

    Members with the same client id are numbered: `shop`, `shop #2`.
    """
    names: dict[str, str] = {}
    for event in events:
        if isinstance(event, GroupMemberJoined) and event.member_id not in names:
            wanted = event.group_instance_id or event.client_id or event.member_id
            names[event.member_id] = numbered(wanted, names.values())
    return names


def numbered(wanted: str, names: Iterable[str]) -> str:
    """Return a name that none of `names` is: `wanted`, then `wanted #2`, `wanted #3`."""
    taken = sum(name == wanted or name.startswith(f"{wanted} #") for name in names)
    return wanted if not taken else f"{wanted} #{taken + 1}"


def group_event_text(event: GroupEvent, names: Mapping[str, str]) -> str:
    """Return one line on an event; `names` has the short names of members."""
    member_id = getattr(event, "member_id", "")
    member = names.get(member_id, member_id or "a client without a member id")
    match event:
        case GroupStateChanged():
            reason = f"; {event.reason}" if event.reason else ""
            return f"{event.previous} > {event.state}, generation {event.generation}, members: {event.members}{reason}"
        case GroupMemberJoined():
            return f"{member} joins from {event.client_host}: {event.member_id}"
        case GroupMemberRemoved():
            return f"{member} is removed: {event.reason}"
        case GroupMemberAssigned():
            return f"{member} is assigned {event.assignment or 'no partitions'} in generation {event.generation}"
        case GroupRequestRefused():
            return f"{event.api} of {member} is refused: {event.error}"
        case OffsetCommitted():
            by = f" by {member}" if event.member_id else ""
            return f"offset {event.offset} of {event.topic}-{event.partition} is committed{by}"
        case OffsetRemoved():
            return f"the offset of {event.topic}-{event.partition} is removed: {event.reason}"
        case ShareRecordsChanged():
            return _share_text(event, member)


def _share_text(event: ShareRecordsChanged, member: str) -> str:
    """Return what a member does with records, or what befalls them: `c releases orders-0, offset 7 (delivery 2)`."""
    count = event.last_offset - event.first_offset + 1
    offsets = numbers("offset", event.first_offset, count)
    records = f"{event.topic}-{event.partition}, {offsets} (delivery {event.delivery_count})"
    if not event.reason:
        return f"{member} {_SHARE_VERBS.get(event.state, event.state)} {records}"
    of_member = f" of {member}" if event.member_id else ""
    verb = "is" if count == 1 else "are"
    return f"{records}{of_member} {verb} {_SHARE_STATES.get(event.state, event.state)}: {event.reason}"
