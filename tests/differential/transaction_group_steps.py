"""Drawn conversations of transactional producers that commit offsets as members of groups, and readers of any version.

Two groups have one member each: a classic one, and where the coordinator serves the protocol a consumer group.
Besides, requests verify or add the partitions of several transactional ids, and an administrator deletes offsets and
groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.group_records import write_records
from tests.differential.group_requests import OFFSETS_TOPIC, Member, commit, describe_groups, fetch_offsets, group_of
from tests.differential.modern_requests import Consumer, consumer_describe
from tests.differential.requests import TIME_MS, fetch, list_offsets, wanted
from tests.differential.transaction_requests import batched
from tests.differential.transaction_sequences import Draw, TransactionSequence, TransactionSide, TransactionStep

if TYPE_CHECKING:
    from random import Random

    from tests.differential.probe import Probe

GROUP_CHANCE: Final = 0.4
CLASSIC, MODERN, PLAIN = "classic", "modern", "plain"


class MemberSide(TransactionSide):
    """One side of a conversation, with a member of a group of each protocol."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(probe)
        topics = self.topics_in_order
        self.classic = Member(probe, group_of(probe, "c"))
        self.modern = Consumer(probe, group_of(probe, "n"), "m", topics[:1])

    def identity(self, kind: str) -> tuple[str, str, int]:
        """Return a group, with the id and the generation of its member, if it has one."""
        if kind == PLAIN:
            return self.group, "", -1
        if kind == MODERN:
            return self.modern.group, self.modern.id, self.modern.epoch
        return self.classic.group, self.classic.id, self.classic.generation


class MemberSequence(TransactionSequence):
    """Draws the steps of a conversation with members of groups."""

    def __init__(self, random: Random, release: str, *, v2: bool) -> None:
        super().__init__(random, release, v2=v2)
        self._groups = (CLASSIC, CLASSIC, PLAIN) if self._old else (CLASSIC, MODERN, MODERN, PLAIN)

    def _kinds(self, usual: list[Draw], rare: list[Draw]) -> list[Draw]:
        if self._random.random() < GROUP_CHANCE:
            return [
                self._join, self._join, self._leave, self._add_group, self._commit_as_member, self._commit_as_member,
                self._commit_as_member, self._member_commits, self._offsets_of_group, self._delete_offsets,
                self._delete_group, self._several, self._several, self._fetch_any, self._list_any, self._list_any,
            ]  # fmt: skip
        return super()._kinds(usual, rare)

    def audit(self) -> list[TransactionStep]:
        """Return the steps that read what has become of the transactions and the groups."""
        return [*super().audit(), TransactionStep("groups", _audit_groups)]

    # Members.

    def _join(self) -> TransactionStep:
        kind, syncs = self._pick(*self._groups), self._pick(True, True, False)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            if kind == MODERN:
                side.modern.epoch = 0
                side.modern.join()
                side.modern.beat(owned=side.modern.assigned)
            else:
                side.classic.join()
                if syncs:
                    side.classic.sync({side.classic.id: b"a"})

        return TransactionStep(f"{kind} joins {syncs}", act)

    def _leave(self) -> TransactionStep:
        kind = self._pick(*self._groups)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            if kind == MODERN:
                side.modern.leave()
            else:
                side.classic.leave()
                side.classic.id = ""

        return TransactionStep(f"{kind} leaves", act)

    def _add_group(self) -> TransactionStep:
        kind, slot, version = self._pick(*self._groups), self._slot(), self._random.choice(range(4 if self._old else 5))

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            side.exchange(slot, side.producers[slot].add_offsets(side.identity(kind)[0]), version)

        return TransactionStep(f"{slot} adds offsets of {kind} v{version}", act)

    def _commit_as_member(self) -> TransactionStep:
        kind, slot, place = self._pick(*self._groups), self._slot(), self._place()
        version = self._version(range(4 if self._old else 5), 5)
        older = self._pick(0, 0, 0, 0, -1, 1, -99)
        named = self._pick("own", "own", "own", "own", "", "stranger")
        instance = self._pick(None, None, None, None, None, "i")
        step = self._pick(0, 0, 0, 0, -1, 1)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            producer, (topic, _) = side.producers[slot], _place_of(side, place)
            group, member_id, generation = side.identity(kind)
            request = txn_commit(
                group,
                topic,
                transactional_id=producer.id,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch + step,
                member_id=member_id if named == "own" else named,
                generation_id=-1 if older == -99 else generation + older,
                group_instance_id=instance,
            )
            side.exchange(slot, request, version, side.group_coordinator)

        note = f"{slot} commits offsets of {place} in {kind} v{version}, generation {older:+}, {named} {instance}"
        return TransactionStep(f"{note}, epoch {step:+}", act)

    def _member_commits(self) -> TransactionStep:
        kind, place, version = self._pick(*self._groups), self._place(), self._pick(8, 9)
        older, offset = self._pick(0, 0, -1), self._random.randrange(9)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            topic, partition = _place_of(side, place)
            group, member_id, generation = side.identity(kind)
            request = commit(group, (topic, {partition: offset}), generation=generation + older, member_id=member_id)
            side.probe.exchange(request, version)

        return TransactionStep(f"the member of {kind} commits {place} {older:+}", act)

    # The administrator.

    def _offsets_of_group(self) -> TransactionStep:
        kind, stable, version = self._pick(*self._groups), self._pick(True, False), self._pick(5, 7, 8, 9)
        everything = self._pick(True, False)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            topics = [] if everything else [(topic, range(count + 1)) for topic, count in side.topics.items()]
            request = fetch_offsets(side.identity(kind)[0], *topics, everything=everything, require_stable=stable)
            side.probe.exchange(request, version)

        return TransactionStep(f"offsets of {kind} v{version}, stable {stable}", act)

    def _delete_offsets(self) -> TransactionStep:
        kind, place = self._pick(*self._groups), self._place()

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            topic, partition = _place_of(side, place)
            side.probe.exchange(offset_delete(side.identity(kind)[0], (topic, [partition, 7])), 0)

        return TransactionStep(f"deletes offsets of {kind} {place}", act)

    def _delete_group(self) -> TransactionStep:
        kind = self._pick(*self._groups)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MemberSide)
            side.probe.exchange(DeleteGroupsRequest(groups_names=[side.identity(kind)[0]]), 2)

        return TransactionStep(f"deletes the group {kind}", act)

    # Several ids in one request.

    def _several(self) -> TransactionStep:
        version = 4 if self._old else self._pick(4, 5)
        drawn = [
            (self._slot(), self._place(), self._pick(True, True, False), self._pick(0, 0, 0, 0, -1, 1))
            for _ in range(self._pick(2, 2, 3))
        ]

        def act(side: TransactionSide) -> None:
            entries = []
            for slot, place, only, step in drawn:
                producer = side.producers[slot]
                fields = {"verify_only": only, "producer_epoch": producer.epoch + step}
                entries.append(producer.verify(_place_of(side, place), **fields))
            side.exchange(drawn[0][0], batched(*entries), version)

        return TransactionStep(f"several v{version} {drawn}", act)

    # Readers of any version.

    def _fetch_any(self) -> TransactionStep:
        place, level, offset = self._place(), self._pick(0, 1, 1), self._random.randrange(9)
        version = self._random.choice(range(4, 16 if self._old else 19))

        def act(side: TransactionSide) -> None:
            topic, partition = at = _place_of(side, place)
            part = wanted(offset, partition=partition)
            side.send(at, fetch(topic, part, topic_id=side.topic_ids[topic], isolation_level=level), version)

        return TransactionStep(f"reads {place} from {offset} v{version}, level {level}", act)

    def _list_any(self) -> TransactionStep:
        place, level = self._place(), self._pick(0, 1, 1)
        version = self._random.choice(range(1, 9 if self._old else 12))
        stamp = self._pick(-1, -1, -2, -3, -4, TIME_MS, TIME_MS - 30, TIME_MS + 30)

        def act(side: TransactionSide) -> None:
            topic, partition = at = _place_of(side, place)
            request = list_offsets(topic, stamp, partition=partition, isolation_level=level, timeout_ms=5_000)
            side.send(at, request, version)

        return TransactionStep(f"lists {place} {stamp} v{version}, level {level}", act)


def _place_of(side: TransactionSide, place: tuple[int, int]) -> tuple[str, int]:
    return side.topics_in_order[place[0]], place[1]


def _audit_groups(side: TransactionSide) -> Any:
    assert isinstance(side, MemberSide)
    kinds = (CLASSIC, PLAIN) if side.probe.release.startswith("3") else (CLASSIC, MODERN, PLAIN)
    for kind in kinds:
        group, *_ = side.identity(kind)
        side.probe.exchange(describe_groups(group), 5)
        if len(kinds) > 2:
            side.probe.exchange(consumer_describe(group), 0)
        for stable in (False, True):
            side.probe.exchange(fetch_offsets(group, everything=True, require_stable=stable), 7)
        write_records(side.probe, OFFSETS_TOPIC, group)
