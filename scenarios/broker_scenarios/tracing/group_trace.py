"""The life of one group: its states, its members, and the events that changed them."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from broker_sim.control.events import (
    BrokerKilled,
    BrokerStarted,
    CoordinatorLoaded,
    CoordinatorUnloaded,
    GroupMemberAssigned,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupStateChanged,
)
from broker_sim.control.group_events import GROUP_EVENTS, group_event_text, member_names
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_sim.control.events import Event

__all__ = ["group_list", "trace_group"]

MOMENTS_MAX: Final = 300
GROUP_LANE: Final = "group"
_MEANWHILE: Final = (BrokerKilled, BrokerStarted, CoordinatorLoaded, CoordinatorUnloaded)


def groups_of(journal: Sequence[tuple[int, Event]]) -> dict[str, int]:
    """Return the number of events per group id, in the order of their first events."""
    found: dict[str, int] = {}
    for _, event in journal:
        if isinstance(event, GROUP_EVENTS):
            found[event.group_id] = found.get(event.group_id, 0) + 1
    return found


def group_list(journal: Sequence[tuple[int, Event]]) -> list[str]:
    """Return one line per group: its id and its number of events."""
    groups = groups_of(journal)
    if not groups:
        return ["no group has members or offsets"]
    width = max(map(len, groups))
    return [f"{group_id:<{width}}  {events:,} events" for group_id, events in groups.items()]


def trace_group(journal: Sequence[tuple[int, Event]], group_id: str) -> Timeline:
    """Return the timeline of a group.

    Raises:
        ScenarioError: The journal has no event of that group.
    """
    groups = groups_of(journal)
    if group_id not in groups:
        known = f" (there are {', '.join(groups)})" if groups else ": no group has members or offsets"
        raise ScenarioError(f"no group is {group_id!r} (--group){nearest(group_id, groups)}{known}")
    own = [event for _, event in journal if isinstance(event, GROUP_EVENTS) and event.group_id == group_id]
    of_the_group = set(map(id, own))
    start_us, end_us = own[0].time_us, max(own[-1].time_us, journal[-1][1].time_us)
    states = [event for event in own if isinstance(event, GroupStateChanged)]
    joined = sum(isinstance(event, GroupMemberJoined) for event in own)
    timeline = Timeline(
        name=f"group {group_id}",
        title=f"group {group_id}: {joined} members joined, {_generations(states)}",
        source=f"{len(own):,} events, the last state is {states[-1].state if states else 'unknown'}",
        took_us=end_us - start_us,
        unended="no end",
        rows_are_lanes=True,
    )
    timeline.stages = [*_state_stages(states, start_us, end_us)]
    lanes = member_names(own)
    timeline.stages += _member_stages(own, lanes, start_us, end_us)
    timeline.lane_notes = _notes(own, lanes)
    if states:
        timeline.lane_notes[GROUP_LANE] = states[-1].state
    moments = [
        Moment(at_us=event.time_us - start_us, text=_text(event, lanes), own=isinstance(event, GROUP_EVENTS))
        for _, event in journal
        if start_us <= event.time_us and (isinstance(event, _MEANWHILE) or id(event) in of_the_group)
    ]
    timeline.moments = moments[:MOMENTS_MAX]
    timeline.left_out = len(moments) - len(timeline.moments)
    return timeline


def _generations(states: Sequence[GroupStateChanged]) -> str:
    generations = list(dict.fromkeys(state.generation for state in states if state.generation > 0))
    if not generations:
        return "no generation"
    first, last = min(generations), max(generations)
    return f"generation {first}" if first == last else f"generations {first} to {last}"


def _state_stages(states: Sequence[GroupStateChanged], start_us: int, end_us: int) -> Iterator[Stage]:
    for state, following in zip_longest(states, states[1:]):
        until_us = end_us if following is None else following.time_us
        if until_us > state.time_us:
            yield Stage(
                lane=GROUP_LANE,
                name=state.state,
                start_us=state.time_us - start_us,
                duration_us=until_us - state.time_us,
            )


def _member_stages(own: Sequence[Event], lanes: dict[str, str], start_us: int, end_us: int) -> Iterator[Stage]:
    joined: dict[str, int] = {}
    for event in own:
        if isinstance(event, GroupMemberJoined):
            joined.setdefault(event.member_id, event.time_us)
        elif isinstance(event, GroupMemberRemoved) and event.member_id in joined:
            since_us = joined.pop(event.member_id)
            yield _membership(lanes[event.member_id], since_us - start_us, event.time_us - since_us)
    for member_id, since_us in joined.items():
        yield _membership(lanes[member_id], since_us - start_us, end_us - since_us)


def _membership(lane: str, start_us: int, duration_us: int) -> Stage:
    return Stage(lane=lane, name="member", start_us=start_us, duration_us=duration_us)


def _notes(own: Sequence[Event], lanes: dict[str, str]) -> dict[str, str]:
    notes: dict[str, str] = {}
    for event in own:
        if isinstance(event, GroupMemberAssigned) and event.member_id in lanes:
            notes[lanes[event.member_id]] = event.assignment or "no partitions"
        elif isinstance(event, GroupMemberRemoved) and event.member_id in lanes:
            notes[lanes[event.member_id]] = event.reason
    return notes


def _text(event: Event, lanes: dict[str, str]) -> str:
    match event:
        case CoordinatorLoaded():
            where = f"{event.topic}-{event.partition}"
            return f"broker {event.broker_id} coordinates {where} after a replay of {event.records} records"
        case CoordinatorUnloaded():
            return f"broker {event.broker_id} coordinates {event.topic}-{event.partition} no longer"
        case BrokerKilled():
            return f"broker {event.broker_id} is killed"
        case BrokerStarted():
            return f"broker {event.broker_id} starts"
        case _:
            assert isinstance(event, GROUP_EVENTS)
            return group_event_text(event, lanes)
