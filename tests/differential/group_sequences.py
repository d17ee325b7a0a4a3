"""Drawn conversations of groups: members that join, sync, commit, leave and lie, on several connections.

A step is built from what its own side has learned so far (ids, generations, epochs, assignments), so that both sides
receive the same up to ids. A request that the coordinator holds back stays pending on its member's connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.group_requests import (
    commit,
    describe_groups,
    fetch_offsets,
    heartbeat,
    join,
    leave,
    subscription,
    sync,
)
from tests.differential.group_steps import ADMIN_SLOT, CLASSIC_SLOTS, LONG_MS, MODERN_SLOTS, GroupStep
from tests.differential.modern_requests import consumer_describe, consumer_heartbeat
from tests.differential.share_sequences import ShareSteps
from tests.differential.streams_sequences import StreamsSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.group_steps import Side

STRANGER: Final = "stranger"
ASSIGNORS: Final = ("uniform", "range", None)


class GroupSequence:
    """Draws the steps of one conversation about one group."""

    def __init__(self, random: Random, name: str, release: str, *, classic_only: bool = False) -> None:
        self._random = random
        self.group = f"{name}-g"
        self.topics = {f"{name}-a": 3, f"{name}-b": 2}
        self._old = release.startswith("3")
        self._classic_only = classic_only
        self._modern = self._chance(0.6) and not classic_only
        self._classic = not self._modern or self._chance(0.5)
        self._further: list[ShareSteps | StreamsSteps] = []
        if not (classic_only or self._old) and self._chance(0.6):
            self._modern = self._classic = self._chance(0.15)  # a group of one type receives requests of others
            self._further = [self._pick(ShareSteps, StreamsSteps)(random, self.group, self.topics)]
        self._instances = {slot: f"i{slot}" if self._chance(0.3) else None for slot in (*CLASSIC_SLOTS, *MODERN_SLOTS)}

    def steps(self, count: int) -> list[GroupStep]:
        """Return the steps, and those that read the result."""
        classic: list[Callable[[], GroupStep]] = [
            self._join, self._join, self._join, self._sync, self._sync, self._beat, self._leave, self._commit,
        ]  # fmt: skip
        modern: list[Callable[[], GroupStep]] = [
            self._enter, self._enter, self._report, self._report, self._report, self._go, self._commit_modern,
        ]  # fmt: skip
        kinds = [
            *(classic if self._classic else []),
            *(modern if self._modern else []),
            *(step for further in self._further for step in further.kinds),
            self._offsets,
            self._describe,
        ]
        rare = [self._delete, self._delete_offsets, self._commit_simple]
        made = [self._random.choice(rare if self._chance(0.07) else kinds)() for _ in range(count)]
        return [*made, *self.audit()]

    def audit(self) -> list[GroupStep]:
        """Return the steps that read what has become of the group."""
        described = [further.describe() for further in self._further]
        return [self._describe(), self._describe(modern=True), *described, self._offsets(everything=True)]

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _topic(self) -> str:
        return self._random.choice(list(self.topics))

    def _names(self) -> Sequence[str]:
        names = list(self.topics)
        return self._pick(names, names[:1], names[1:], [], names)

    # Classic members

    def _join(self) -> GroupStep:
        slot = self._pick(*CLASSIC_SLOTS)
        protocols = tuple(
            (name, subscription(*self._names(), version=1))
            for name in self._pick(("range",), ("range", "roundrobin"), ("roundrobin", "range"))
        )
        wrong = self._pick("", "", "", "", "", "", "", "id", "type", "fresh")
        instance = self._instances[slot]

        def build(side: Side) -> Message:
            known = side.members[slot].id
            member_id = {"id": STRANGER, "fresh": ""}.get(wrong, known)
            return join(
                self.group,
                member_id=member_id,
                instance=instance,
                protocols=protocols,
                protocol_type="connect" if wrong == "type" else "consumer",
                session_ms=LONG_MS,
                rebalance_ms=LONG_MS,
            )

        version = self._pick(9, 9, 5, 7) if instance else self._pick(9, 9, 5, 7, 4, 3)
        return GroupStep(slot=slot, version=version, note=f"join {wrong}", build=build)

    def _sync(self) -> GroupStep:
        slot = self._pick(*CLASSIC_SLOTS)
        wrong = self._pick("", "", "", "", "", "id", "generation", "protocol")

        def build(side: Side) -> Message:
            known = side.members[slot]
            assignments = {
                side.members[each].id: b"\0\0\0\0\0\0\xff\xff\xff\xff" + b"%d" % each
                for each in CLASSIC_SLOTS
                if side.members[each].id
            }
            return sync(
                self.group,
                known.generation + (wrong == "generation"),
                STRANGER if wrong == "id" else known.id,
                assignments if known.leads else {},
                instance=self._instances[slot],
                protocol_type="connect" if wrong == "protocol" else None,
                protocol=None,
            )

        return GroupStep(slot=slot, version=self._pick(5, 5, 4, 3), note=f"sync {wrong}", build=build)

    def _beat(self) -> GroupStep:
        slot = self._pick(*CLASSIC_SLOTS)
        off = self._pick(0, 0, 0, 0, 1, -1)
        known_id = self._chance(0.9)

        def build(side: Side) -> Message:
            known = side.members[slot]
            return heartbeat(
                self.group,
                known.generation + off,
                known.id if known_id else STRANGER,
                instance=self._instances[slot],
            )

        return GroupStep(slot=slot, version=self._pick(3, 4), note=f"heartbeat {off:+}", build=build)

    def _leave(self) -> GroupStep:
        slot = self._pick(*CLASSIC_SLOTS)
        by_instance = self._chance(0.3)

        def build(side: Side) -> Message:
            return leave(self.group, ("" if by_instance else side.members[slot].id, self._instances[slot]))

        return GroupStep(slot=ADMIN_SLOT, version=self._pick(3, 4, 5), note=f"member {slot} leaves", build=build)

    def _commit(self) -> GroupStep:
        return self._commit_of(self._pick(*CLASSIC_SLOTS))

    def _commit_modern(self) -> GroupStep:
        return self._commit_of(self._pick(*MODERN_SLOTS))

    def _commit_of(self, slot: int) -> GroupStep:
        off = self._pick(0, 0, 0, 1, -1)
        topic = self._topic()
        offset = self._random.randint(0, 9)

        def build(side: Side) -> Message:
            known = side.members[slot]
            return commit(
                self.group,
                (topic, {0: offset, self.topics[topic]: 1}),
                generation=known.generation + off,
                member_id=known.id,
                instance=self._instances[slot],
                ids=side.topic_ids,
            )

        version = self._pick(9, 8, 7) if self._old else self._pick(10, 9, 8, 7)
        return GroupStep(slot=ADMIN_SLOT, version=version, note=f"commit of {slot} {off:+}", build=build)

    # Members of the new protocol

    def _enter(self) -> GroupStep:
        slot = self._pick(*MODERN_SLOTS)
        names, assignor = self._names(), self._pick(*ASSIGNORS)

        def build(side: Side) -> Message:
            side.members[slot].id = f"m{slot}"
            return consumer_heartbeat(
                self.group,
                f"m{slot}",
                0,
                topics=names,
                owned={},
                rebalance_ms=LONG_MS,
                instance=self._instances[slot],
                assignor=assignor,
            )

        return GroupStep(slot=slot, version=self._consumer_version(), note=f"member {slot} enters", build=build)

    def _report(self) -> GroupStep:
        slot = self._pick(*MODERN_SLOTS)
        owned, names = self._chance(0.7), self._names() if self._chance(0.15) else None
        off = self._pick(0, 0, 0, 0, 0, 0, 1, -1)

        def build(side: Side) -> Message:
            known = side.members[slot]
            return consumer_heartbeat(
                self.group,
                f"m{slot}",
                max(known.generation + off, 1),
                topics=names,
                owned=known.assigned if owned else None,
                instance=self._instances[slot],
            )

        return GroupStep(
            slot=slot, version=self._consumer_version(), note=f"member {slot} reports {off:+}", build=build
        )

    def _go(self) -> GroupStep:
        slot = self._pick(*MODERN_SLOTS)
        epoch = self._pick(-1, -1, -2) if self._instances[slot] else -1

        def build(_side: Side) -> Message:
            return consumer_heartbeat(self.group, f"m{slot}", epoch, instance=self._instances[slot])

        return GroupStep(slot=slot, version=self._consumer_version(), note=f"member {slot} goes {epoch}", build=build)

    def _consumer_version(self) -> int:
        return 0 if self._old else self._pick(0, 1)

    # The administrator

    def _offsets(self, *, everything: bool | None = None) -> GroupStep:
        of_all = self._chance(0.5) if everything is None else everything
        stable = self._chance(0.3)
        version = self._pick(7, 8) if self._old else self._pick(7, 8, 10)

        def build(side: Side) -> Message:
            topics = [(name, range(count + 1)) for name, count in self.topics.items()]
            return fetch_offsets(
                self.group,
                *([] if of_all else topics),
                everything=of_all,
                require_stable=stable,
                ids=side.topic_ids,
            )

        return GroupStep(slot=ADMIN_SLOT, version=version, note="offsets", build=build)

    def _describe(self, *, modern: bool | None = None) -> GroupStep:
        use_modern = not self._old and not self._classic_only and (self._chance(0.5) if modern is None else modern)

        def build(_side: Side) -> Message:
            return consumer_describe(self.group) if use_modern else describe_groups(self.group)

        return GroupStep(slot=ADMIN_SLOT, version=1 if use_modern else 5, note="describe", build=build)

    def _delete(self) -> GroupStep:
        def build(_side: Side) -> Message:
            return DeleteGroupsRequest(groups_names=[self.group])

        return GroupStep(slot=ADMIN_SLOT, version=2, note="delete", build=build)

    def _delete_offsets(self) -> GroupStep:
        topic = self._topic()

        def build(_side: Side) -> Message:
            return offset_delete(self.group, (topic, [0, 1]))

        return GroupStep(slot=ADMIN_SLOT, version=0, note="delete offsets", build=build)

    def _commit_simple(self) -> GroupStep:
        topic = self._topic()

        def build(side: Side) -> Message:
            return commit(self.group, (topic, {0: 3}), ids=side.topic_ids)

        return GroupStep(slot=ADMIN_SLOT, version=self._pick(8, 9), note="commit of no member", build=build)
