"""The steps of members of a streams group in drawn conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.cases.streams_group_heartbeat import (
    first_fields,
    streams_describe,
    streams_heartbeat,
    subtopology,
    tasks,
    topology,
)
from tests.differential.group_steps import ADMIN_SLOT, LONG_MS, MODERN_SLOTS, GroupStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.group_steps import Side

VERSION: Final = 0


class StreamsSteps:
    """Draws the heartbeats of members of one streams group, whose topology has no internal topics."""

    kind: Final = "streams"

    def __init__(self, random: Random, group: str, topics: Iterable[str]) -> None:
        self._random = random
        self._group = group
        self._shapes = [
            topology(*(subtopology(str(number), topic) for number, topic in enumerate(topics))),
            topology(subtopology("0", *topics)),
            topology(subtopology("0", next(iter(topics))), epoch=1),
        ]

    @property
    def kinds(self) -> list[Callable[[], GroupStep]]:
        """The kinds of steps, each as often as it is drawn."""
        return [
            self._enter, self._enter, self._report, self._report, self._report, self._beat, self._go, self.describe
        ]  # fmt: skip

    def describe(self) -> GroupStep:
        """Describe the group."""
        return GroupStep(
            slot=ADMIN_SLOT, version=VERSION, note="describe streams", build=lambda _: streams_describe(self._group)
        )

    def _enter(self) -> GroupStep:
        slot, process = self._random.choice(MODERN_SLOTS), self._random.choice(["p1", "p1", "p2"])
        shape = self._random.choice([self._shapes[0]] * 6 + self._shapes)
        fields = first_fields(shape, process=process, rebalance_timeout_ms=LONG_MS)
        return self._step(slot, "enters", lambda _: streams_heartbeat(self._group, f"m{slot}", 0, **fields))

    def _report(self) -> GroupStep:
        slot = self._random.choice(MODERN_SLOTS)
        return self._member_step(
            slot,
            "reports",
            lambda side: {
                "active_tasks": tasks(side.members[slot].tasks),
                "standby_tasks": [],
                "warmup_tasks": [],
            },
        )

    def _beat(self) -> GroupStep:
        return self._member_step(self._random.choice(MODERN_SLOTS), "beats", lambda _: {})

    def _member_step(self, slot: int, note: str, fields: Callable[[Side], dict[str, object]]) -> GroupStep:
        off = self._random.choice([0, 0, 0, 0, 0, 1, -1])

        def build(side: Side) -> Message:
            epoch = max(side.members[slot].generation + off, 1)
            return streams_heartbeat(self._group, f"m{slot}", epoch, **fields(side))

        return self._step(slot, f"{note} {off:+}", build)

    def _go(self) -> GroupStep:
        slot = self._random.choice(MODERN_SLOTS)
        return self._step(slot, "goes", lambda _: streams_heartbeat(self._group, f"m{slot}", -1))

    def _step(self, slot: int, note: str, build: Callable[[Side], Message]) -> GroupStep:
        return GroupStep(slot=slot, version=VERSION, note=f"streams member {slot} {note}", build=build)
