"""The life of something that a coordinator has, a group or a transactional id: its states, and events meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Self

from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.timeline import Moment, Stage
from broker_sim.control.events import BrokerKilled, BrokerStarted, CoordinatorLoaded, CoordinatorUnloaded, TopicCreated
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized

    from broker_scenarios.tracing.timeline import Timeline
    from broker_sim.control.events import Event

__all__ = ["Coordination", "add_moments", "check_known", "counted", "state_stages"]

MOMENTS_MAX: Final = 300


def counted(found: Mapping[str, Sized]) -> list[str]:
    """Return one line per id: the id and its number of events."""
    width = max(map(len, found))
    return [f"{name:<{width}}  {len(events):,} events" for name, events in found.items()]


def check_known(name: str, known: Iterable[str], kind: str, option: str, none: str) -> None:
    """Raise ScenarioError with the nearest id unless `name` is a known id; `none` is the text without any."""
    known = list(known)
    if name not in known:
        there = f" (there are {', '.join(known)})" if known else f": {none}"
        raise ScenarioError(f"no {kind} is {name!r} ({option}){nearest(name, known)}{there}")


def state_stages(lane: str, states: Sequence[tuple[int, str]], start_us: int, end_us: int) -> Iterator[Stage]:
    """Iterate over the stages of a lane; `states` has the time at which each state begins."""
    for (at_us, state), following in zip_longest(states, states[1:]):
        until_us = end_us if following is None else following[0]
        if until_us > at_us:
            yield Stage(lane=lane, name=state, start_us=at_us - start_us, duration_us=until_us - at_us)


def add_moments(timeline: Timeline, moments: Sequence[Moment]) -> None:
    """Add the moments, as far as they are not too many: first of all those of the life itself."""
    others = MOMENTS_MAX - sum(moment.own for moment in moments)
    kept: list[Moment] = []
    for moment in moments:
        if not moment.own:
            others -= 1
        if len(kept) < MOMENTS_MAX and (moment.own or others >= 0):
            kept.append(moment)
    timeline.moments = kept
    timeline.left_out = len(moments) - len(kept)


@dataclass(frozen=True, slots=True)
class Coordination:
    """The partition of an internal topic whose leader coordinates an id; None if the journal has no TopicCreated."""

    topic: str
    partition: int | None

    @classmethod
    def of(cls, journal: Sequence[tuple[int, Event]], topic: str, name: str) -> Self:
        """Return the partition that the id hashes to."""
        for _, event in journal:
            if isinstance(event, TopicCreated) and event.topic == topic:
                return cls(topic, partition_for(name, event.partitions))
        return cls(topic, None)

    def meanwhile(self, event: Event) -> str | None:
        """Describe a change of the coordinator, or the crash or start of a broker; None for other events."""
        match event:
            case CoordinatorLoaded() if self._includes(event):
                where = f"{event.topic}-{event.partition}"
                return f"broker {event.broker_id} coordinates {where} after a replay of {event.records} records"
            case CoordinatorUnloaded() if self._includes(event):
                return f"broker {event.broker_id} coordinates {event.topic}-{event.partition} no longer"
            case BrokerKilled():
                return f"broker {event.broker_id} is killed"
            case BrokerStarted():
                return f"broker {event.broker_id} starts"
            case _:
                return None

    def _includes(self, event: CoordinatorLoaded | CoordinatorUnloaded) -> bool:
        return event.topic == self.topic and self.partition in (None, event.partition)
