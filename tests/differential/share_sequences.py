"""The steps of members of a share group in drawn conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.group_records import raw_records
from tests.differential.group_requests import OFFSETS_TOPIC
from tests.differential.group_steps import ADMIN_SLOT, MODERN_SLOTS, GroupStep
from tests.differential.probe import attempts
from tests.differential.share_requests import share_describe, share_heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.group_steps import Side

VERSION: Final = 1
INITIALIZATION_TYPE: Final = 15
INITIALIZING_TOPICS: Final = 2
"""Where the value of such a record has the number of its initializing topics, plus one."""


class ShareSteps:
    """Draws the heartbeats of members of one share group."""

    kind: Final = "share"

    def __init__(self, random: Random, group: str, topics: Iterable[str]) -> None:
        self._random = random
        self._group = group
        self._topics = list(topics)

    @property
    def kinds(self) -> list[Callable[[], GroupStep]]:
        """The kinds of steps, each as often as it is drawn."""
        return [self._enter, self._enter, self._beat, self._beat, self._beat, self._go, self.describe]

    def describe(self) -> GroupStep:
        """Describe the group."""
        return GroupStep(
            slot=ADMIN_SLOT, version=VERSION, note="describe share", build=lambda _: share_describe(self._group)
        )

    def _names(self) -> list[str]:
        return self._random.choice([self._topics, self._topics[:1], self._topics[1:], []])

    def _enter(self) -> GroupStep:
        slot, names = self._random.choice(MODERN_SLOTS), self._names()
        return self._step(slot, "enters", lambda _: share_heartbeat(self._group, f"m{slot}", 0, topics=names))

    def _beat(self) -> GroupStep:
        slot, off = self._random.choice(MODERN_SLOTS), self._random.choice([0, 0, 0, 0, 0, 1, -1])
        names = self._names() if self._random.random() < 0.2 else None

        def build(side: Side) -> Message:
            return share_heartbeat(self._group, f"m{slot}", max(side.members[slot].generation + off, 1), topics=names)

        return self._step(slot, f"beats {off:+}", build)

    def _go(self) -> GroupStep:
        slot = self._random.choice(MODERN_SLOTS)
        return self._step(slot, "goes", lambda _: share_heartbeat(self._group, f"m{slot}", -1))

    def _step(self, slot: int, note: str, build: Callable[[Side], Message]) -> GroupStep:
        return GroupStep(
            slot=slot, version=VERSION, note=f"share member {slot} {note}", build=build, settle=self._await_state
        )

    def _await_state(self, side: Side) -> None:
        """Wait until the share coordinator has the state of each partition that the group has begun to initialize."""
        for _ in attempts(f"the share partitions of {self._group}"):
            values = [
                value
                for kind, value in raw_records(side.probe, OFFSETS_TOPIC, self._group)
                if kind == INITIALIZATION_TYPE
            ]
            if not values or values[-1] is None or values[-1][INITIALIZING_TOPICS] == 1:
                return
