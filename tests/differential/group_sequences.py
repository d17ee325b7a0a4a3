"""Drawn conversations of groups: members that join, sync, commit, leave and lie, on several connections.

A step is built from what its own side has learned so far (ids, generations, epochs, assignments), so that both sides
receive the same up to ids. A request that the coordinator holds back stays pending on its member's connection.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
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
from tests.differential.group_steps import ADMIN_SLOT, CLASSIC_SLOTS, LONG_MS, MODERN_SLOTS, ChangeStep, GroupStep
from tests.differential.modern_requests import consumer_describe, consumer_heartbeat
from tests.differential.share_sequences import ShareSteps
from tests.differential.streams_sequences import StreamsSteps
from tests.differential.topic_steps import TopicSteps, pause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.group_steps import Side

STRANGER: Final = "stranger"
ASSIGNORS: Final = ("uniform", "range", None)
SHORT_MS: Final = 1_000
"""The sessions and rebalance timeouts of short-lived members, and less than a pause."""

PAUSE_SECONDS: Final = 1.6
REGEX_SECONDS: Final = 0.15
"""A real coordinator resolves regular expressions on another thread."""


class GroupSequence:
    """Draws the steps of one conversation about one group.

    Without `sessions_end` no member has a short session: a move between two brokers may outlast it on one side.
    """

    def __init__(
        self, random: Random, name: str, release: str, *, classic_only: bool = False, sessions_end: bool = True
    ) -> None:
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
        self._timeout_ms = SHORT_MS if self._chance(0.2) and sessions_end else LONG_MS
        self._alive = dict(self.topics)
        self._changes = TopicSteps(random, self.group, self._alive, consumers=not classic_only)
        self._changing = self._chance(0.5)
        self._uses_regex = self._chance(0.4) and not self._old

    def steps(self, count: int) -> list[GroupStep | ChangeStep]:
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
        made = [self._random.choice(self._rare_kinds if self._chance(0.15) else kinds)() for _ in range(count)]
        return [*self._first_changes(), *made, *self.audit()]

    @property
    def _rare_kinds(self) -> list[Callable[[], GroupStep | ChangeStep]]:
        """The kinds of steps of the administrator, and of time."""
        kinds: list[Callable[[], GroupStep | ChangeStep]] = [
            self._delete, self._delete_offsets, self._commit_simple, self._evict, self._list
        ]  # fmt: skip
        if self._timeout_ms == SHORT_MS:
            kinds += [lambda: pause(PAUSE_SECONDS)] * 2
        if self._changing:
            kinds += [self._changes.change] * 4
        if self._has_configs:
            kinds += [self._configure] * 2
        return kinds

    @property
    def _has_configs(self) -> bool:
        return not (self._old or self._classic_only)

    def _configure(self) -> ChangeStep:
        return self._changes.configure(self._pick("consumer", *(each.kind for each in self._further)))

    def _first_changes(self) -> list[ChangeStep]:
        if self._timeout_ms == SHORT_MS and self._has_configs:
            return [self._changes.set("consumer.session.timeout.ms", str(SHORT_MS))]
        return []

    def audit(self) -> list[GroupStep]:
        """Return the steps that read what has become of the group."""
        described = [further.describe() for further in self._further]
        return [self._list(), self._describe(), self._describe(modern=True), *described, self._offsets(everything=True)]

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _topic(self) -> str:
        return self._random.choice(self._changes.names() if self._chance(0.1) else list(self._alive or self.topics))

    def _names(self) -> Sequence[str]:
        names = self._changes.names() if self._changing else list(self.topics)
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
                session_ms=self._timeout_ms,
                rebalance_ms=self._timeout_ms,
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
        offset, beyond = self._random.randint(0, 9), self._alive.get(topic, 0)
        stranger = self._chance(0.1)

        def build(side: Side) -> Message:
            known = side.members[slot]
            return commit(
                self.group,
                (topic, {0: offset, 1: offset, beyond: 1}),
                generation=known.generation + off,
                member_id=STRANGER if stranger else known.id,
                instance=self._instances[slot],
                ids=side.topic_ids,
            )

        version = self._pick(9, 8, 7) if self._old else self._pick(10, 9, 8, 7)
        return GroupStep(slot=ADMIN_SLOT, version=version, note=f"commit of {slot} {off:+}", build=build)

    # Members of the new protocol

    def _enter(self) -> GroupStep:
        slot = self._pick(*MODERN_SLOTS)
        names, assignor = self._names(), self._pick(*ASSIGNORS)
        member_id = f"{self._pick('m', 'm', 'm', 'n')}{slot}"
        regex = self._regex() if self._uses_regex else None
        rack = self._pick(None, None, "r1", "r2")

        def build(side: Side) -> Message:
            side.members[slot].id = member_id
            return consumer_heartbeat(
                self.group,
                member_id,
                0,
                topics=None if regex else names,
                regex=regex,
                owned={},
                rebalance_ms=self._timeout_ms,
                instance=self._instances[slot],
                rack=rack,
                assignor=assignor,
            )

        return self._consumer_step(slot, f"member {slot} enters", build, regex=regex)

    def _report(self) -> GroupStep:
        slot = self._pick(*MODERN_SLOTS)
        owned = self._pick("all", "all", "all", "all", "none", "none", "none", "some", "other")
        names, assignor, regex = None, None, None
        if self._chance(0.2):
            names, assignor = self._names(), self._pick(*ASSIGNORS)
            regex = self._pick("", self._regex()) if self._uses_regex else None
        off = self._pick(0, 0, 0, 0, 0, 0, 1, -1)
        instance = self._instances[slot] if self._chance(0.95) else self._pick(None, "i2", "i3")

        def build(side: Side) -> Message:
            known = side.members[slot]
            reported = {
                "all": known.assigned,
                "some": {topic_id: indexes[:1] for topic_id, indexes in known.assigned.items()},
                "other": {topic_id: [0] for topic_id in side.topic_ids.values()},
            }
            return consumer_heartbeat(
                self.group,
                known.id or f"m{slot}",
                max(known.generation + off, 1),
                topics=names,
                regex=regex,
                owned=reported.get(owned),
                instance=instance,
                assignor=assignor,
            )

        return self._consumer_step(slot, f"member {slot} reports {owned} {off:+}", build, regex=regex)

    def _go(self) -> GroupStep:
        slot = self._pick(*MODERN_SLOTS)
        epoch = self._pick(-1, -2, -2) if self._instances[slot] else self._pick(-1, -1, -1, -1, -2)

        def build(side: Side) -> Message:
            member_id = side.members[slot].id or f"m{slot}"
            return consumer_heartbeat(self.group, member_id, epoch, instance=self._instances[slot])

        return self._consumer_step(slot, f"member {slot} goes {epoch}", build)

    def _regex(self) -> str:
        prefix = self.group.removesuffix("-g")
        return self._pick(
            f"{prefix}-[ab]",
            f"{prefix}-[ab]",
            f"{prefix}-.*",
            f"{prefix}-[bc]",
            f"{prefix}-c",
            "none",
            "(",
            f"{prefix}-c|x",
        )

    def _consumer_step(
        self, slot: int, note: str, build: Callable[[Side], Message], *, regex: str | None = None
    ) -> GroupStep:
        return GroupStep(
            slot=slot,
            version=1 if regex is not None else self._consumer_version(),
            note=note,
            build=build,
            settle=None if regex is None else lambda _: Event().wait(REGEX_SECONDS),
        )

    def _consumer_version(self) -> int:
        return 0 if self._old else self._pick(0, 1)

    # The administrator

    def _offsets(self, *, everything: bool | None = None) -> GroupStep:
        of_all = self._chance(0.5) if everything is None else everything
        stable = self._chance(0.3)
        version = self._pick(7, 8) if self._old else self._pick(7, 8, 10)
        slot = self._pick(*CLASSIC_SLOTS, *MODERN_SLOTS) if everything is None and self._chance(0.4) else None
        off = self._pick(0, 0, 0, 1, -1)
        if slot is not None:
            version = 9 if self._old else self._pick(9, 9, 10)
        topics = [(name, range(count + 1)) for name, count in self._alive.items()]

        def build(side: Side) -> Message:
            member_id, epoch = None, -1
            if slot is not None:
                known = side.members[slot]
                member_id, epoch = known.id or STRANGER, known.generation + off
            return fetch_offsets(
                self.group,
                *([] if of_all else topics),
                everything=of_all,
                require_stable=stable,
                member_id=member_id,
                member_epoch=epoch,
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

    def _evict(self) -> GroupStep:
        """Remove members by id or by instance, as an administrator does."""
        slots = self._random.sample((*CLASSIC_SLOTS, *MODERN_SLOTS), self._pick(1, 1, 2))
        named = {slot: self._pick("instance", "instance", "id", "both", "other") for slot in slots}

        def identity(side: Side, slot: int) -> tuple[str, str | None]:
            member_id, instance = side.members[slot].id, self._instances[slot]
            return {
                "instance": ("", instance or f"i{slot}"),
                "id": (member_id, None),
                "both": (member_id, instance),
                "other": (STRANGER, instance),
            }[named[slot]]

        def build(side: Side) -> Message:
            return leave(self.group, *(identity(side, slot) for slot in slots))

        return GroupStep(slot=ADMIN_SLOT, version=5, note=f"removes {named}", build=build)

    def _list(self) -> GroupStep:
        version = 4 if self._old else 5

        def own(response: Any) -> Any:
            return response | {"groups": [each for each in response["groups"] if each["groupId"] == self.group]}

        return GroupStep(slot=ADMIN_SLOT, version=version, note="list", build=lambda _: ListGroupsRequest(), only=own)
