"""The steps of members of a streams group in drawn conversations."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Final

from protocol_specs.messages.streams_group_heartbeat import Endpoint, KeyValue, TaskOffset
from tests.differential.cases.streams_group_heartbeat import (
    first_fields,
    internal,
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
    from protocol_specs.messages.streams_group_heartbeat import Topology
    from tests.differential.group_steps import Side

VERSION: Final = 0
INTERNAL_SECONDS: Final = 0.4
"""A broker makes internal topics after its response, and its coordinator knows them later."""


class StreamsSteps:
    """Draws the heartbeats of members of one streams group, whose topology has no internal topics."""

    kind: Final = "streams"

    def __init__(self, random: Random, group: str, topics: Iterable[str]) -> None:
        self._random = random
        self._group = group
        first, *others = topics
        prefix = group.removesuffix("-g")
        plain = topology(*(subtopology(str(number), topic) for number, topic in enumerate(topics)))
        stored = topology(
            subtopology("0", first, changelogs=[internal(f"{prefix}-log")], sinks=[f"{prefix}-part"]),
            subtopology("1", *others, repartitions=[internal(f"{prefix}-part", 2)]),
        )
        self._main = random.choice([plain, stored])
        """The topology of most members; one of them needs internal topics, which the broker makes."""
        self._shapes = [
            self._main,
            topology(subtopology("0", *topics)),
            topology(subtopology("0", first), epoch=1),
            topology(subtopology("0", f"{prefix}-c")),
            stored,
        ]
        self._stored = stored
        self._has_internal = self._main is stored
        """True once a step of the sequence has a topology with internal topics."""

    @property
    def kinds(self) -> list[Callable[[], GroupStep]]:
        """The kinds of steps, each as often as it is drawn."""
        return [
            self._enter, self._enter, self._report, self._report, self._report, self._beat, self._go, self.describe,
            self._change,
        ]  # fmt: skip

    def describe(self) -> GroupStep:
        """Describe the group."""
        return GroupStep(
            slot=ADMIN_SLOT, version=VERSION, note="describe streams", build=lambda _: streams_describe(self._group)
        )

    def _enter(self) -> GroupStep:
        slot, process = self._random.choice(MODERN_SLOTS), self._random.choice(["p1", "p1", "p2"])
        shape = self._draw_shape([self._main] * 12 + self._shapes)
        fields = first_fields(shape, process=process, rebalance_timeout_ms=LONG_MS) | self._details()
        return self._step(slot, "enters", lambda _: streams_heartbeat(self._group, f"m{slot}", 0, **fields))

    def _draw_shape(self, shapes: list[Topology]) -> Topology:
        shape = self._random.choice(shapes)
        self._has_internal |= shape is self._stored
        return shape

    def _details(self) -> dict[str, object]:
        """Return fields of a member besides its topology."""
        found: dict[str, object] = {}
        if self._random.random() < 0.3:
            found["user_endpoint"] = Endpoint(host=self._random.choice(["h1", "h2"]), port=9)
        if self._random.random() < 0.2:
            found["client_tags"] = [KeyValue(key="zone", value=self._random.choice(["a", "b"]))]
        return found

    def _change(self) -> GroupStep:
        """Change fields of a member, report offsets, or request the end of the application."""
        slot = self._random.choice(MODERN_SLOTS)
        fields: dict[str, object] = self._random.choice(
            [
                self._details(),
                {"process_id": self._random.choice(["p1", "p2", "p3"])},
                {"topology": self._draw_shape(self._shapes)},
                {"endpoint_information_epoch": self._random.choice([0, 1, 2])},
                {"rebalance_timeout_ms": 30_000},
                {"task_offsets": [TaskOffset(subtopology_id="0", partition=0, offset=5)]},
                {"shutdown_application": self._random.random() < 0.3},
            ]
        )
        return self._member_step(slot, f"changes {list(fields)}", lambda _: fields)

    def _report(self) -> GroupStep:
        slot = self._random.choice(MODERN_SLOTS)
        lies = self._random.random() < 0.1

        def fields(side: Side) -> dict[str, object]:
            known = side.members[slot]
            return {
                "active_tasks": tasks({"0": [0]} if lies else known.tasks),
                "standby_tasks": tasks(known.standby),
                "warmup_tasks": [],
            }

        return self._member_step(slot, "reports", fields)

    def _beat(self) -> GroupStep:
        return self._member_step(self._random.choice(MODERN_SLOTS), "beats", lambda _: {})

    def _member_step(self, slot: int, note: str, fields: Callable[[Side], dict[str, object]]) -> GroupStep:
        off = self._random.choice([0, 0, 0, 0, 0, 1, -1])

        def build(side: Side) -> Message:
            epoch = max(side.members[slot].generation + off, 1)
            return streams_heartbeat(self._group, f"m{slot}", epoch, **fields(side))

        return self._step(slot, f"{note} {off:+}", build)

    def _go(self) -> GroupStep:
        slot, epoch = self._random.choice(MODERN_SLOTS), self._random.choice([-1, -1, -1, -2])
        return self._step(slot, f"goes {epoch}", lambda _: streams_heartbeat(self._group, f"m{slot}", epoch))

    def _step(self, slot: int, note: str, build: Callable[[Side], Message]) -> GroupStep:
        return GroupStep(
            slot=slot, version=VERSION, note=f"streams member {slot} {note}", build=build, settle=self._await_internal
        )

    def _await_internal(self, _side: Side) -> None:
        """Wait until the internal topics that the broker has begun to make are there."""
        if self._has_internal:
            Event().wait(INTERNAL_SECONDS)
