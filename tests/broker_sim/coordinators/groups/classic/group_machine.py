"""A Hypothesis state machine: members of a classic group that join, crash, pause and leave, and coordinators that move.

At rest all members are in one generation with one leader, and each partition has one owner. An acknowledged commit is
not lost, and no commit of an earlier generation is accepted after one of a later generation.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from broker_sim.topic_spec import TopicSpec
from tests.broker_sim.coordinators.groups.classic.group_bench import REBALANCE_MS, SESSION_MS, GroupBench
from tests.broker_sim.coordinators.groups.classic.group_client import PARTITIONS, TOPIC, Commits, GroupClient

CONFIG = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "1500",
    "group.initial.rebalance.delay.ms": "500",
}
MEMBERS_MAX = 5
AT_REST_MS = 3 * (REBALANCE_MS + SESSION_MS)

places = st.integers(0, MEMBERS_MAX - 1)


class GroupMachine(RuleBasedStateMachine):
    """The faults of a group's members and of its coordinator."""

    release = "4.3.1"

    def __init__(self) -> None:
        super().__init__()
        self.commits = Commits()
        self.clients: list[GroupClient] = []
        self.paused: dict[str, GroupClient] = {}
        self.bench: Any = None

    @initialize()
    def start(self) -> None:
        self.bench = GroupBench(release=self.release, brokers=2, replicas=2, config=CONFIG)
        self.bench.cluster.create_topic(TopicSpec(name=TOPIC, partitions=PARTITIONS))
        self.bench.run(100)
        self._add(static=False)
        self._add(static=False)

    def _add(self, *, static: bool) -> None:
        self.clients.append(GroupClient(self.bench, f"client-{len(self.clients)}", self.commits, static=static))

    @property
    def living(self) -> list[GroupClient]:
        return [client for client in self.clients if client.alive]

    def _chosen(self, place: int) -> GroupClient | None:
        living = [client for client in self.living if client.name not in self.paused]
        return living[place % len(living)] if living else None

    # Members.

    @precondition(lambda self: len(self.living) < MEMBERS_MAX)
    @rule(static=st.booleans())
    def member_starts(self, static: bool) -> None:
        self._add(static=static)

    @rule(place=places)
    def member_crashes(self, place: int) -> None:
        client = self._chosen(place)
        if client is not None:
            client.crash()

    @rule(place=places)
    def member_leaves(self, place: int) -> None:
        client = self._chosen(place)
        if client is not None:
            client.leave()

    @rule(place=places)
    def static_member_restarts(self, place: int) -> None:
        client = self._chosen(place)
        if client is not None and client.instance is not None:
            client.crash()
            again = GroupClient(self.bench, client.name, self.commits, static=True)
            self.clients.append(again)

    @rule(place=places)
    def member_pauses(self, place: int) -> None:
        client = self._chosen(place)
        if client is not None:
            self.paused[client.name] = client
            client.pause()

    @rule()
    def members_resume(self) -> None:
        paused, self.paused = self.paused, {}
        for client in paused.values():
            client.resume()

    @rule(place=places)
    def member_misses_its_session(self, place: int) -> None:
        """Another member commits in the next generation before this one commits in its own."""
        if len(self.living) < 2:
            self._add(static=False)
        self.bench.run(REBALANCE_MS)
        client = self._chosen(place)
        if client is not None:
            client.pause()
            self.bench.run(SESSION_MS + REBALANCE_MS)
            client.resume()

    @rule(place=places)
    def metadata_change(self, place: int) -> None:
        client = self._chosen(place)
        if client is not None:
            client.change()

    # Coordinators.

    @property
    def running(self) -> list[int]:
        return [broker_id for broker_id in (1, 2) if self.bench.cluster.is_running(broker_id)]

    @precondition(lambda self: len(self.running) == 2 and self._isr == 2)
    @rule()
    def coordinator_is_killed(self) -> None:
        self.bench.cluster.kill(self.bench.coordinator)

    @precondition(lambda self: len(self.running) == 1)
    @rule()
    def broker_starts(self) -> None:
        for broker_id in (1, 2):
            if not self.bench.cluster.is_running(broker_id):
                self.bench.cluster.restart(broker_id)

    @property
    def _isr(self) -> int:
        return len(self.bench.cluster.registration_of("__consumer_offsets", 0).isr)

    @rule(ms=st.sampled_from([10, 300, 1_500, 4_000, SESSION_MS + 1_000, REBALANCE_MS]))
    def time_passes(self, ms: int) -> None:
        self.bench.run(ms)

    # At rest.

    def teardown(self) -> None:
        if self.bench is None:
            return
        try:
            self.members_resume()
            if len(self.running) < 2:
                self.broker_starts()
            self.bench.run(AT_REST_MS)
            self._check_members()
            self._check_commits()
        finally:
            self.bench.cluster.close()

    def _check_members(self) -> None:
        living = self.living
        if not living:
            return
        group = self.bench.group
        assert group.state.value == "Stable", group.state
        assert sorted(group.members) == sorted(client.member_id for client in living)
        assert {client.generation_id for client in living} == {group.generation_id}
        assert [client.member_id for client in living if client.leads] in ([group.leader_id], [])
        owned = sorted(partition for client in living for partition in client.owned or [PARTITIONS])
        assert owned == list(range(PARTITIONS)), owned

    def _check_commits(self) -> None:
        acknowledged = sorted(self.commits.acknowledged)
        generations = [self.commits.sent[offset][1] for offset in acknowledged]
        assert generations == sorted(generations), "a commit of an earlier generation was accepted"
        for partition in range(PARTITIONS):
            offsets = self.commits.of(partition)
            if offsets:
                assert self.bench.committed(TOPIC, partition) >= max(offsets), "a commit is lost"


class OldCoordinatorMachine(GroupMachine):
    """The same, with the coordinator of before 4.0."""

    release = "3.7"
