"""The life of one group: its states, its members, and the events that changed them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeGuard

from broker_scenarios.tracing.coordinated_lives import Coordination, add_moments, check_known, counted, state_stages
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from broker_sim.control.events import (
    GroupMemberAssigned,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupRequestRefused,
    GroupStateChanged,
    HighWatermarkAdvanced,
    OffsetCommitted,
    ShareRecordsChanged,
)
from broker_sim.control.group_events import GROUP_EVENTS, group_event_text, member_names
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME
from protocol_specs.error_codes import ErrorCode
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_sim.control.events import Event
    from broker_sim.control.group_events import GroupEvent

__all__ = ["group_list", "trace_group"]

GROUP_LANE: Final = "group"
NONE: Final = "no group has members or offsets"


def groups_of(journal: Sequence[tuple[int, Event]]) -> dict[str, list[GroupEvent]]:
    """Return the events per group id, in the order of their first events."""
    found: dict[str, list[GroupEvent]] = {}
    for _, event in journal:
        if isinstance(event, GROUP_EVENTS):
            found.setdefault(event.group_id, []).append(event)
    return found


def group_list(journal: Sequence[tuple[int, Event]]) -> list[str]:
    """Return one line per group: its id and its number of events."""
    groups = groups_of(journal)
    return counted(groups) if groups else [NONE]


def trace_group(journal: Sequence[tuple[int, Event]], group_id: str) -> Timeline:
    """Return the timeline of a group.

    Raises:
        ScenarioError: The journal has no event of that group.
    """
    groups = groups_of(journal)
    check_known(group_id, groups, "group", "--group", NONE)
    own = groups[group_id]
    start_us, end_us = own[0].time_us, max(own[-1].time_us, journal[-1][1].time_us)
    states = [event for event in own if isinstance(event, GroupStateChanged)]
    joined = sum(isinstance(event, GroupMemberJoined) for event in own)
    timeline = Timeline(
        name=f"group {group_id}",
        title=f"group {group_id}: {plural(joined, 'member')} joined, {_generations(states)}",
        source=f"{len(own):,} events, the last state is {states[-1].state if states else 'unknown'}",
        took_us=end_us - start_us,
        unended="no end",
        rows_are_lanes=True,
    )
    changes = [(state.time_us, state.state) for state in states]
    timeline.stages = [*state_stages(GROUP_LANE, changes, start_us, end_us)]
    lanes = member_names(own)
    timeline.stages += _member_stages(own, lanes, start_us, end_us)
    timeline.lane_notes = _notes(own, lanes)
    _add_share_partitions(timeline, own, start_us, end_us)
    if states:
        timeline.lane_notes[GROUP_LANE] = states[-1].state
    add_moments(timeline, [*_moments(journal, group_id, start_us, lanes)])
    return timeline


def _moments(
    journal: Sequence[tuple[int, Event]], group_id: str, start_us: int, lanes: dict[str, str]
) -> Iterator[Moment]:
    coordination = Coordination.of(journal, GROUP_METADATA_TOPIC_NAME, group_id)
    high_watermarks: dict[tuple[str, int], int] = {}
    for _, event in journal:
        at_us = event.time_us - start_us
        if isinstance(event, HighWatermarkAdvanced):
            high_watermarks[event.topic, event.partition] = event.high_watermark
        if isinstance(event, GROUP_EVENTS):
            if event.group_id == group_id:
                yield Moment(at_us=at_us, text=group_event_text(event, lanes) + _lag(event, high_watermarks))
        elif at_us >= 0 and (text := coordination.meanwhile(event)) is not None:
            yield Moment(at_us=at_us, text=text, own=False)


def _lag(event: GroupEvent, high_watermarks: Mapping[tuple[str, int], int]) -> str:
    """Return the lag of a committed offset; an empty text while the high watermark is unknown."""
    if not isinstance(event, OffsetCommitted) or (event.topic, event.partition) not in high_watermarks:
        return ""
    return f", lag {max(0, high_watermarks[event.topic, event.partition] - event.offset)}"


def _generations(states: Sequence[GroupStateChanged]) -> str:
    generations = list(dict.fromkeys(state.generation for state in states if state.generation > 0))
    if not generations:
        return "no generation"
    first, last = min(generations), max(generations)
    return f"generation {first}" if first == last else f"generations {first} to {last}"


def _member_stages(own: Sequence[Event], lanes: dict[str, str], start_us: int, end_us: int) -> Iterator[Stage]:
    """A member is removed, or lost with its coordinator: the next one has read only the members that were stored."""
    joined: dict[str, int] = {}
    for event in own:
        if isinstance(event, GroupMemberJoined):
            joined.setdefault(event.member_id, event.time_us)
        for member_id in _ended_members(event, joined):
            since_us = joined.pop(member_id)
            yield _membership(lanes[member_id], since_us - start_us, event.time_us - since_us)
    for member_id, since_us in joined.items():
        yield _membership(lanes[member_id], since_us - start_us, end_us - since_us)


def _ended_members(event: Event, joined: Mapping[str, int]) -> list[str]:
    if isinstance(event, GroupStateChanged) and event.members == 0:
        return list(joined)
    if isinstance(event, GroupMemberRemoved) or _is_unknown(event):
        return [event.member_id] if event.member_id in joined else []
    return []


def _is_unknown(event: Event) -> TypeGuard[GroupRequestRefused]:
    return isinstance(event, GroupRequestRefused) and event.error == ErrorCode.UNKNOWN_MEMBER_ID.name


def _membership(lane: str, start_us: int, duration_us: int) -> Stage:
    return Stage(lane=lane, name="member", start_us=start_us, duration_us=duration_us)


def _add_share_partitions(timeline: Timeline, own: Sequence[Event], start_us: int, end_us: int) -> None:
    """Draw a lane per share partition: the times at which members hold records, and how many are finished."""
    held: dict[str, set[int]] = {}
    since: dict[str, int] = {}
    finished: dict[str, Counter[str]] = {}
    for event in own:
        if not isinstance(event, ShareRecordsChanged):
            continue
        lane = f"{event.topic}-{event.partition}"
        offsets = held.setdefault(lane, set())
        changed = range(event.first_offset, event.last_offset + 1)
        counts = finished.setdefault(lane, Counter())
        if event.state == "ACQUIRED":
            offsets.update(changed)
            since.setdefault(lane, event.time_us)
            continue
        offsets.difference_update(changed)
        if event.state != "AVAILABLE":
            counts[event.state.lower()] += len(changed)
        if not offsets and lane in since:
            begin_us = since.pop(lane)
            timeline.stages.append(_acquired(lane, begin_us - start_us, event.time_us - begin_us))
    timeline.stages += [_acquired(lane, begin_us - start_us, end_us - begin_us) for lane, begin_us in since.items()]
    for lane, counts in finished.items():
        timeline.lane_notes[lane] = (
            ", ".join(f"{count:,} {state}" for state, count in counts.items()) or "none finished"
        )


def _acquired(lane: str, start_us: int, duration_us: int) -> Stage:
    return Stage(lane=lane, name="acquired", start_us=start_us, duration_us=duration_us)


def _notes(own: Sequence[Event], lanes: dict[str, str]) -> dict[str, str]:
    notes: dict[str, str] = {}
    removed: set[str] = set()
    for event in own:
        if isinstance(event, GroupMemberAssigned) and event.member_id in lanes:
            notes[lanes[event.member_id]] = event.assignment or "no partitions"
        elif isinstance(event, GroupMemberRemoved) and event.member_id in lanes:
            notes[lanes[event.member_id]] = event.reason
            removed.add(event.member_id)
        elif _is_unknown(event) and event.member_id in lanes and event.member_id not in removed:
            notes[lanes[event.member_id]] = "the coordinator does not know it"
    return notes
