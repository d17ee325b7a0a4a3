"""Hold drawn conversations of groups with a real broker and with ours, and report where they part.

    python -m tests.differential.explore_groups --release 4.3.1 --seed 1 --sequences 30
    python -m tests.differential.explore_groups --release 4.3.1 --seed 1 --sequences 20 --records
    python -m tests.differential.explore_groups --release 4.3.1 --seed 1 --sequences 20 --moves

With `--moves` there are two brokers, between which coordinators move, and no sessions that end.

Our topics have the ids that the real broker gave: the tables of assignors, and so assignments, depend on them.
The ids of classic members are random on both sides: what an assignor makes of their order in a consumer group may
differ.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from broker_sim.controller import topics as controller_topics
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode
from protocol_specs.json_form import to_json
from tests.differential.cases.streams_group_heartbeat import STREAMS
from tests.differential.conversations import KEPT_RECORDS, Parting, explorer_arguments, hold_all
from tests.differential.explore import first_difference
from tests.differential.extra_listeners import ours
from tests.differential.group_moves import BROKERS, MovingProbe, place_internal_topics, with_moves
from tests.differential.group_records import SHARE_STATE_TOPIC, write_records
from tests.differential.group_requests import NO_DELAY, OFFSETS_TOPIC, group_of
from tests.differential.group_sequences import GroupSequence
from tests.differential.group_steps import ADMIN_SLOT, ChangeStep, GroupStep, Known, Side
from tests.differential.modern_requests import AT_ONCE, NEW_COORDINATOR
from tests.differential.probe import SILENT, Connection, Parked, Probe
from tests.differential.record import SETTINGS
from tests.differential.share_record_sequences import LOCK_MS, ShareRecordSequence
from tests.differential.share_requests import SHARE, share_group_of
from tests.differential.steady_ids import topics_in_hash_order
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from protocol_specs.message import Message

SHORT_SESSIONS: Final = {f"group.{kind}.min.session.timeout.ms": "500" for kind in ("consumer", "share", "streams")} | {
    f"group.{kind}.min.heartbeat.interval.ms": "200" for kind in ("consumer", "share", "streams")
}
"""What a group may configure."""

SHORT_LOCKS: Final = {"group.share.min.record.lock.duration.ms": str(LOCK_MS)}

QUIET_SECONDS: Final = 0.08
"""After so long without a response, the pending requests are taken for parked."""

RECORDS_QUIET_SECONDS: Final = 0.3
"""So much when the broker may read the state of a share partition first."""

PATIENT_SECONDS: Final = 0.7
SESSION_ERRORS: Final = (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH)
SHOWN_STEPS: Final = 30
SHOWN_CHARACTERS: Final = 400


class GroupTalker(Side):
    """One side of a conversation; with `topic_ids` our broker gives its topics these ids."""

    def __init__(
        self,
        bootstrap: str,
        release: str,
        name: str,
        topics: Mapping[str, int],
        *,
        classic_only: bool,
        topic_ids: Mapping[str, bytes] | None = None,
        moves: bool = False,
    ) -> None:
        self._moving = MovingProbe(bootstrap, release=release, name=name) if moves else None
        super().__init__(self._moving or Probe(bootstrap, release=release, name=name), topic_ids)
        self._connections: dict[tuple[int, int], Connection] = {}
        """By slot and broker."""
        self._pending: dict[int, tuple[Parked, GroupStep]] = {}
        self.sent: list[str] = []
        self.quiet_seconds = QUIET_SECONDS
        if topic_ids is not None:
            for topic, count in topics.items():
                with mock.patch.object(controller_topics, "random_topic_id", return_value=topic_ids[topic]):
                    self.probe.topic(topic.removeprefix(f"{name}-"), partitions=count)
        elif classic_only:
            for topic, count in topics.items():
                self.probe.topic(topic.removeprefix(f"{name}-"), partitions=count)
        else:
            # Assignors iterate over tables of topic ids.
            topics_in_hash_order(
                self.probe, **{topic.removeprefix(f"{name}-"): count for topic, count in topics.items()}
            )
        self.topic_ids = {topic: self.probe.topic_id(topic) for topic in topics}
        self._has_share_state = not (classic_only or release.startswith("3"))
        share_group_of(self.probe, reset="latest") if self._has_share_state else group_of(self.probe)

    def exchange(self, step: GroupStep | ChangeStep) -> list[Any]:
        """Take one step unless its member waits; return the responses that come until it is quiet."""
        if isinstance(step, ChangeStep):
            self.sent.append(step.note)
            return [[ADMIN_SLOT, step.note, step.apply(self)], *self.collect(self.quiet_seconds)]
        if step.slot not in self._pending:
            request = step.build(self)
            shown = json.dumps(to_json(request, step.version))[:SHOWN_CHARACTERS]
            self.sent.append(f"{step.slot} {step.note}: {request.NAME} v{step.version} {shown}")
            connection = self._connection(step.slot, request)
            parked = self.probe.start(request, step.version, on=connection, note=step.note)
            self._pending[step.slot] = parked, step
        return self.collect(self.quiet_seconds)

    def collect(self, quiet_seconds: float) -> list[Any]:
        """Return the responses that come until nothing has come for a while, by slot."""
        found = []
        came = True
        while came:
            came = False
            for slot, (parked, step) in list(self._pending.items()):
                response = self.probe.finish(parked, seconds=quiet_seconds, only=step.only)
                entry = self.probe.transcript.pop()
                self.probe.sent.pop()
                if response != SILENT:
                    del self._pending[slot]
                    self._learn(slot, response)
                    if step.settle is not None:
                        step.settle(self)
                    found.append([slot, entry["api"], entry["response"]])
                    came = True
        return sorted(found, key=lambda each: each[0])

    def records(self, group: str) -> Any:
        """Return the records of the group; lists in some are in the order of random ids."""
        if self._moving is not None:
            self._moving.await_records(group)
        found = []
        topics = (OFFSETS_TOPIC, SHARE_STATE_TOPIC) if self._has_share_state else (OFFSETS_TOPIC,)
        for topic in topics:
            write_records(self.probe, topic, group)
            records = self.probe.transcript.pop()["response"]
            found += ["".join(sorted(each)) if each.startswith("2: ") else each for each in records]
        return found

    def disconnect(self, slot: int) -> None:
        """Close the connection of a member, whose session ends, unless it waits for a response."""
        if slot in self._pending:
            return
        self.members[slot].session = 0
        for place in [each for each in self._connections if each[0] == slot]:
            self._connections.pop(place).close()

    def _connection(self, slot: int, request: Message) -> Connection:
        place = slot, 1 if self._moving is None else self._moving.receiver(request)
        known = self._connections.get(place)
        if known is None or known.closed:
            known = self._connections[place] = self.probe.connect(place[1])
        return known

    def _learn(self, slot: int, response: Any) -> None:
        if isinstance(response, str) or slot == ADMIN_SLOT:
            return
        member = self.members[slot]
        if response.NAME == "JoinGroup" and response.error_code in {0, 79}:
            member.id, member.generation = response.member_id, response.generation_id
            member.leads = response.leader == response.member_id
        if response.NAME == "ConsumerGroupHeartbeat" and response.error_code == 0:
            member.generation = response.member_epoch
            if response.assignment is not None:
                member.assigned = {each.topic_id: each.partitions for each in response.assignment.topic_partitions}
        if response.NAME == "ShareGroupHeartbeat" and response.error_code == 0:
            member.generation = response.member_epoch
        if response.NAME in {"ShareFetch", "ShareAcknowledge"}:
            self._learn_session(member, response)
        if response.NAME == "StreamsGroupHeartbeat" and response.error_code == 0:
            member.generation = response.member_epoch
            if response.active_tasks is not None:
                member.tasks = {each.subtopology_id: each.partitions for each in response.active_tasks}
            if response.standby_tasks is not None:
                member.standby = {each.subtopology_id: each.partitions for each in response.standby_tasks}

    def _learn_session(self, member: Known, response: Any) -> None:
        if response.error_code:
            member.session = 0 if response.error_code in SESSION_ERRORS else member.session
            return
        member.session += 1
        if response.NAME == "ShareFetch":
            member.acquired = [
                (topic.topic_id, partition.partition_index, each.first_offset, each.last_offset)
                for topic in response.responses
                for partition in topic.partitions
                for each in partition.acquired_records or ()
            ]


def converse(arguments: argparse.Namespace, sides: list[str], number: int, turn: str) -> Parting | None:
    """Hold one conversation; return where the sides part and what was sent, or None."""
    random = Random(f"{arguments.seed} {number} {arguments.release}")
    name = f"gs{arguments.seed}{turn}-{number}"
    sequence = (
        ShareRecordSequence(random, name)
        if arguments.records
        else GroupSequence(
            random, name, arguments.release, classic_only=arguments.classic, sessions_end=not arguments.moves
        )
    )
    steps = sequence.steps(arguments.steps)
    if arguments.moves:
        steps = with_moves(random, sequence.group, steps, shares=not arguments.release.startswith("3"))
    about = (arguments.release, name, sequence.topics)
    options = {"classic_only": arguments.classic, "moves": arguments.moves}
    real_talker = GroupTalker(sides[0], *about, **options)
    ids = None if arguments.classic else real_talker.topic_ids
    talkers = [real_talker, GroupTalker(sides[1], *about, **options, topic_ids=ids)]
    for talker in talkers if arguments.records else ():
        talker.quiet_seconds = RECORDS_QUIET_SECONDS
    try:
        for step in steps:
            real, our = [talker.exchange(step) for talker in talkers]
            if real != our:
                # One side may be late, as on a busy machine.
                real, our = [
                    sorted([*found, *talker.collect(PATIENT_SECONDS)], key=lambda each: each[0])
                    for found, talker in zip((real, our), talkers, strict=True)
                ]
            if real != our:
                key, lines = _parted(step.note, real, our, talkers[0].sent, name)
                states = [[talker.exchange(each) for each in sequence.audit()] for talker in talkers]
                return Parting(key, [*lines, f"then real {states[0]}"[:3000], f"then ours {states[1]}"[:3000]])
        real, our = [talker.records(sequence.group) for talker in talkers]
        if real != our:
            return _parted("records", real, our, talkers[0].sent, name)
    finally:
        for talker in talkers:
            talker.probe.close()
    return None


def _parted(note: str, real: Any, our: Any, sent: list[str], name: str) -> Parting:
    path, was, now = first_difference(real, our)
    lines = [*sent[-SHOWN_STEPS:], *_only("real", real, our), *_only("ours", our, real)]
    return Parting(f"{note}: {path}: {str(was)[:160]} -> {str(now)[:160]}".replace(name, "<name>"), lines)


def _only(side: str, here: list[Any], there: list[Any]) -> list[str]:
    """Return the elements that one side alone has, with their places."""
    return [f"{side} {place}: {each}"[:2000] for place, each in enumerate(here) if each not in there]


def _settings(*, old: bool, preview: bool) -> dict[str, str]:
    if old and preview:
        return dict((*NO_DELAY, *NEW_COORDINATOR))
    if old:
        return dict(NO_DELAY)
    found = dict((*AT_ONCE, *SHARE, *STREAMS)) | SHORT_SESSIONS | SHORT_LOCKS
    # Those of 3.7 alone: the protocols are without streams groups.
    return {name: value for name, value in found.items() if name not in dict(NEW_COORDINATOR)}


def main() -> int:
    """Explore; the exit code is 1 if the sides part."""
    parser = explorer_arguments(__doc__, sequences=30, steps=30)
    parser.add_argument("--classic", action="store_true", help="only APIs of classic groups and offsets")
    parser.add_argument("--preview", action="store_true", help="3.7's new coordinator, which has consumer groups")
    parser.add_argument("--records", action="store_true", help="conversations about the records of share groups")
    parser.add_argument("--moves", action="store_true", help="coordinators move between two brokers")
    arguments = parser.parse_args()
    brokers = BROKERS if arguments.moves else 1
    old = arguments.release.startswith("3")
    settings = SETTINGS | KEPT_RECORDS | _settings(old=old, preview=arguments.preview)
    arguments.classic |= old and not arguments.preview
    with ExitStack() as running:
        kafka = running.enter_context(real_kafka(arguments.release, brokers=brokers, settings=settings))
        config = ours(settings, brokers)
        cluster = running.enter_context(ThreadedCluster(brokers=brokers, release=arguments.release, config=config))
        sides = [kafka.bootstrap_servers, cluster.bootstrap_servers]
        for side in sides if arguments.moves else ():
            place_internal_topics(side, arguments.release, shares=not old)
        return hold_all(arguments, partial(converse, arguments, sides))


if __name__ == "__main__":
    sys.exit(main())
