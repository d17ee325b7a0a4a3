"""Drawn conversations about the records of one share group: fetches, acknowledgements, locks that expire, limits."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.cases.delete_records import before
from tests.differential.cases.share_state import alter_offsets, delete_offsets, describe_offsets, read, summarize, write
from tests.differential.group_steps import ADMIN_SLOT, ChangeStep, GroupStep
from tests.differential.requests import batch, fill
from tests.differential.share_requests import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ShareConsumer,
    acknowledge,
    fetch_shared,
    share_describe,
    share_heartbeat,
)
from tests.differential.topic_steps import TopicSteps, pause
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.group_steps import Side
    from tests.differential.share_requests import Acks

    Kinds = list[Callable[[], GroupStep | ChangeStep]]

SLOTS: Final = (2, 3, 4)
LOCK_MS: Final = 1_000
PAUSE_SECONDS: Final = 1.4
"""More than a lock may last."""

FIRST_WAIT_MS: Final = 400
WAITS_MS: Final = (150, 150, 60_000)
"""Much less than the time after which a response is taken for parked, and more than a conversation lasts.

Both sides take turns: a deadline within the conversation comes for each between other steps.
"""

CLOSE_SECONDS: Final = 0.3
"""A broker releases the records of a session some time after its connection is closed."""

CONFIGS: Final = {
    "share.record.lock.duration.ms": (str(LOCK_MS), "30000"),
    "share.delivery.count.limit": ("2", "3", "5"),
    "share.partition.max.record.locks": ("100", "2000"),
    "share.isolation.level": ("read_committed", "read_uncommitted"),
    "share.renew.acknowledge.enable": ("true", "false"),
    "share.auto.offset.reset": ("earliest", "latest"),
}
PRODUCERS: Final = ("t", "u")
OFFSETS: Final = (0, 1, 2, 3, 5, 8, 13, 40)


class ShareRecordSequence:
    """Draws the steps of one conversation; the members of the group fetch in sessions on connections of their own."""

    def __init__(self, random: Random, name: str) -> None:
        self._random = random
        self.group = f"{name}-g"
        self.topics = {f"{name}-a": 1, f"{name}-b": 2}
        self._names = list(self.topics)[: random.choice((1, 1, 2))]
        self._changes = TopicSteps(random, self.group, dict(self.topics), consumers=True)
        self._transactional, self._odd = self._chance(0.4), self._chance(0.3)
        self._producers: dict[tuple[Side, str], Transactions] = {}
        self._is_open = dict.fromkeys(PRODUCERS, False)

    def steps(self, count: int) -> list[GroupStep | ChangeStep]:
        """Return the steps, and those that read the result."""
        kinds: Kinds = [
            *[self._fetch] * 8, *[self._acknowledge] * 6, *[self._produce] * 3, self._configure, self._close,
            self._describe, self._delete_records, lambda: pause(PAUSE_SECONDS), self._alter, self._delete, self._beat,
        ]  # fmt: skip
        if self._transactional:
            kinds += [self._transact] * 5
        if self._odd:
            kinds += [self._read_state, self._read_state, self._write_state, self._delete_group]
        first = [self._changes.set("share.auto.offset.reset", "earliest")]
        first += [self._configure() for _ in range(2)]
        made = [self._random.choice(kinds)() for _ in range(count)]
        return [*first, ChangeStep(note="a member joins", apply=self._join), self._produce(), *made, *self.audit()]

    def audit(self) -> list[GroupStep | ChangeStep]:
        """Return the steps that read what has become of the group."""
        described = GroupStep(slot=ADMIN_SLOT, version=1, note="group", build=lambda _: share_describe(self.group))
        states = [self._read_state(place) for place in self._places()]
        return [described, self._describe(everything=True), *map(self._summary, self._places()), *states]

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _places(self) -> list[tuple[str, int]]:
        return [(name, index) for name in self._names for index in range(self.topics[name])]

    def _join(self, side: Side) -> None:
        """Let a member join until each partition has state, and the broker has read it.

        Fetches need no member: those of the conversation have ids of their own.
        """
        member = ShareConsumer(side.probe, self.group, "m", self._names)
        member.join()
        side.probe.transcript.clear()
        side.probe.sent.clear()
        member.await_assignment(len(self._places()))
        for name, index in self._places():
            wanted = {side.topic_ids[name]: {index: []}}
            side.probe.quiet(fetch_shared(self.group, "first", 0, wanted, max_wait_ms=FIRST_WAIT_MS), 1)
            side.probe.quiet(fetch_shared(self.group, "first", -1), 1)

    # Members

    def _acks(self, *, probability: float) -> Callable[[Side, int], dict[bytes, Acks]]:
        """Return a function that acknowledges some of the ranges that a slot was last given."""
        if not self._chance(probability):
            return lambda _side, _slot: {}
        one_kind, part = self._pick(ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, GAP, RENEW), self._pick(1, 1, 2, 3)
        mixed = self._chance(0.25)
        beyond = self._pick(0, 0, 0, 0, 0, 0, 0, 1, -1)
        kinds = [self._pick(ACCEPT, RELEASE, REJECT, GAP) for _ in range(3)]

        def build(side: Side, slot: int) -> dict[bytes, Acks]:
            made: dict[bytes, Acks] = {}
            for topic_id, index, first, last in side.members[slot].acquired:
                end = max(first, first + (last - first + 1) // part - 1) + beyond
                several = [kinds[place % len(kinds)] for place in range(end - first + 1)]
                types = several if mixed and several else [one_kind]
                made.setdefault(topic_id, {}).setdefault(index, []).append((first, end, types))
            return made

        return build

    def _fetch(self) -> GroupStep:
        slot = self._pick(*SLOTS)
        acks = self._acks(probability=0.4)
        opens = self._chance(0.1)
        off = self._pick(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, -1)
        closes = self._chance(0.05)
        places = self._places() if self._chance(0.7) else [self._pick(*self._places())]
        adds, forgets = self._chance(0.15), self._chance(0.08)
        options = {
            "max_records": self._pick(1, 2, 3, 5, 100, 500),
            "batch_size": self._pick(1, 2, 500, 500),
            "acquire_mode": self._pick(0, 0, 1),
            "max_wait_ms": self._pick(*WAITS_MS),
            "max_bytes": self._pick(1 << 20, 1 << 20, 1 << 20, 100),
            "renew": self._chance(0.04),
        }

        def build(side: Side) -> Message:
            known = side.members[slot]
            epoch = 0 if opens or not known.session else known.session + off
            topics = acks(side, slot) if epoch else {}
            if epoch <= 0 or adds:
                for name, index in places:
                    topics.setdefault(side.topic_ids[name], {}).setdefault(index, [])
            forgotten = {side.topic_ids[places[0][0]]: [places[0][1]]} if forgets and epoch else {}
            return fetch_shared(self.group, f"m{slot}", -1 if closes else epoch, topics, forget=forgotten, **options)

        return GroupStep(slot=slot, version=self._pick(1, 2, 2, 2), note=f"{slot} fetches {off:+}", build=build)

    def _acknowledge(self) -> GroupStep:
        slot = self._pick(*SLOTS)
        acks, off = self._acks(probability=1), self._pick(0, 0, 0, 0, 0, 0, 0, 0, 1, -1)
        renew, closes = self._chance(0.3), self._chance(0.05)

        def build(side: Side) -> Message:
            epoch = side.members[slot].session + off
            return acknowledge(self.group, f"m{slot}", -1 if closes else epoch, acks(side, slot), renew=renew)

        return GroupStep(slot=slot, version=self._pick(1, 2, 2, 2), note=f"{slot} acknowledges {off:+}", build=build)

    def _close(self) -> ChangeStep:
        slot = self._pick(*SLOTS)

        def apply(side: Side) -> None:
            side.disconnect(slot)
            Event().wait(CLOSE_SECONDS)

        return ChangeStep(note=f"{slot} closes its connection", apply=apply)

    def _beat(self) -> GroupStep:
        epoch = self._pick(-1, 0)
        topics = self._names if epoch == 0 else None
        return GroupStep(
            slot=ADMIN_SLOT,
            version=1,
            note=f"the member: {epoch}",
            build=lambda _: share_heartbeat(self.group, "m", epoch, topics=topics),
        )

    # The topics and the administrator

    def _produce(self) -> ChangeStep:
        name, index = self._pick(*self._places())
        counts = [self._pick(1, 2, 3, 5, 5, 16, 70) for _ in range(self._pick(1, 1, 2))]

        def apply(side: Side) -> None:
            fill(side.probe, name, *(batch(*(b"v" for _ in range(count))) for count in counts), partition=index)

        return ChangeStep(note=f"produces {counts} to {name} {index}", apply=apply)

    def _transact(self) -> ChangeStep:
        """Write in the transaction of a producer, or end it."""
        name, index = self._pick(*self._places())
        suffix = self._pick(*PRODUCERS)
        ends, well, count = self._is_open[suffix] and self._chance(0.5), self._chance(0.5), self._pick(1, 1, 3)
        self._is_open[suffix] = not ends

        def apply(side: Side) -> None:
            if (side, suffix) not in self._producers:
                self._producers[side, suffix] = Transactions(side.probe, suffix)
                self._producers[side, suffix].begin()
            producer = self._producers[side, suffix]
            if ends:
                producer.ended(commit=well)
                return
            producer.open((name, index))
            for _ in range(count - 1):
                producer.write(name, index)

        return ChangeStep(
            note=f"{suffix} {f'ends {well}' if ends else f'writes {count} to {name} {index}'}", apply=apply
        )

    def _configure(self) -> ChangeStep:
        name = self._pick(*CONFIGS)
        return self._changes.set(name, self._pick(*CONFIGS[name]))

    def _delete_records(self) -> GroupStep:
        name, index = self._pick(*self._places())
        offset = self._pick(*OFFSETS)
        return GroupStep(
            slot=ADMIN_SLOT,
            version=2,
            note="deletes records",
            build=lambda _: before(name, (index, offset)),
            settle=lambda _: Event().wait(CLOSE_SECONDS),
        )

    def _describe(self, *, everything: bool | None = None) -> GroupStep:
        of_all = self._chance(0.5) if everything is None else everything
        # For a partition that does not exist the broker tries again, with pauses of random length.
        topics = None if of_all else {name: list(range(count)) for name, count in self.topics.items()}
        return GroupStep(
            slot=ADMIN_SLOT, version=1, note="offsets", build=lambda _: describe_offsets((self.group, topics))
        )

    def _alter(self) -> GroupStep:
        name, index = self._pick(*self._places())
        offset = self._pick(*OFFSETS)
        return GroupStep(
            slot=ADMIN_SLOT,
            version=0,
            note="alters offsets",
            build=lambda _: alter_offsets(self.group, {name: {index: offset}}),
        )

    def _delete(self) -> GroupStep:
        name = self._pick(*self._names)
        return GroupStep(
            slot=ADMIN_SLOT, version=0, note="deletes offsets", build=lambda _: delete_offsets(self.group, name)
        )

    def _delete_group(self) -> GroupStep:
        return GroupStep(
            slot=ADMIN_SLOT,
            version=2,
            note="deletes the group",
            build=lambda _: DeleteGroupsRequest(groups_names=[self.group]),
        )

    def _read_state(self, place: tuple[str, int] | None = None) -> GroupStep:
        """Read the state of a partition; a leader epoch beyond the leader's own fences it."""
        name, index = place or self._pick(*self._places())
        epoch = 0 if place else self._pick(-1, 0, 0, 0, 1)
        return GroupStep(
            slot=ADMIN_SLOT,
            version=0,
            note=f"reads state, epoch {epoch}",
            build=lambda side: read(self.group, side.topic_ids[name], index, leader_epoch=epoch),
        )

    def _write_state(self) -> GroupStep:
        name, index = self._pick(*self._places())
        first, state, start = self._pick(*OFFSETS), self._pick(0, 2, 4), self._pick(-1, *OFFSETS)
        last, epoch = first + self._pick(0, 1, 4), self._pick(0, 1, 2)
        count = self._pick(0, 1, 2)
        return GroupStep(
            slot=ADMIN_SLOT,
            version=1,
            note="writes state",
            build=lambda side: write(
                self.group,
                side.topic_ids[name],
                (first, last, state, count),
                partition=index,
                state_epoch=epoch,
                start=start,
            ),
        )

    def _summary(self, place: tuple[str, int]) -> GroupStep:
        name, index = place
        return GroupStep(
            slot=ADMIN_SLOT,
            version=1,
            note="state",
            build=lambda side: summarize(self.group, side.topic_ids[name], index),
        )
