"""A Hypothesis state machine: members of a streams group that join, leave, crash, pause and close tasks slowly, and
coordinators that crash and move.

No two members run an active task, epochs only grow, and no former owner of a task commits for it. At rest each task is
active on one member, and its standby tasks are on other processes.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from broker_sim.coordinators.groups.modern.epoch_group import GroupState
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.tasks import each_task, partitions_of
from tests.broker_sim.coordinators.faulty_cluster import OFFSETS_TOPIC
from tests.broker_sim.coordinators.faulty_group_machine import FaultyGroupMachine, places, waits
from tests.broker_sim.coordinators.groups.streams.streams_client import StreamsClient
from tests.broker_sim.coordinators.groups.streams.streams_cluster import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    STATEFUL,
    StreamsCluster,
    Task,
)

MEMBERS_MAX = 5
PROCESSES = ("p0", "p1", "p2")
AT_REST_MS = 6 * (SESSION_MS + REBALANCE_MS)

processes = st.sampled_from(PROCESSES)
closings = st.sampled_from([1_200, 50, REBALANCE_MS + 1_000])


class StreamsMachine(FaultyGroupMachine[StreamsClient]):
    """The faults of a group's members and of its coordinator."""

    group_type = StreamsGroup
    group_id = GROUP

    def __init__(self) -> None:
        super().__init__()
        self.replicas = 1

    @initialize(members=st.lists(st.tuples(processes, closings), min_size=2, max_size=3))
    def start(self, members: list[tuple[str, int]]) -> None:
        self.cluster = StreamsCluster()
        for process, close_ms in members:
            self.member_starts(process, close_ms, 100)
        self.cluster.run(2_000)

    # Members.

    @precondition(lambda self: len(self.living) < MEMBERS_MAX)
    @rule(process=processes, close_ms=closings, ms=waits)
    def member_starts(self, process: str, close_ms: int, ms: int) -> None:
        name = f"member-{len(self.clients)}"
        self.clients.append(StreamsClient(self.cluster, name, process, close_ms=close_ms))
        self.cluster.run(ms)

    @rule(place=places, ms=st.sampled_from([SESSION_MS - 500, SESSION_MS + 700, 2 * SESSION_MS]))
    def member_pauses(self, place: int, ms: int) -> None:
        self.pause(place, ms)

    @rule(place=places)
    def member_loses_a_response(self, place: int) -> None:
        client = self.chosen(place)
        if client is not None:
            client.loses_response = True

    @rule(place=places, close_ms=closings)
    def member_changes(self, place: int, close_ms: int) -> None:
        client = self.chosen(place)
        if client is not None:
            client.close_ms = close_ms

    # Members whose tasks others await.

    @precondition(lambda self: self.cluster.in_sync and 0 < len(self.living) < MEMBERS_MAX - 1)
    @rule(place=places, process=processes, moves=st.booleans())
    def members_join_while_others_close_slowly(self, place: int, process: str, moves: bool) -> None:
        """Two members join, one of them in a process that has tasks; the coordinator moves before those are closed."""
        for client in self.living:
            client.close_ms = REBALANCE_MS - 500
        known = self.living[place % len(self.living)].process
        for each in (known, process):
            self.member_starts(each, 50, 0)
        for step in range(8):
            self.cluster.run(250)
            if moves and step == 3 and self.cluster.in_sync:
                self.cluster.move_leader(OFFSETS_TOPIC)
            self.no_task_has_two_owners()

    @precondition(lambda self: self.cluster.in_sync)
    @rule(place=places)
    def coordinator_moves_after_a_crash(self, place: int) -> None:
        """Only the next coordinator can miss the member."""
        self.member_crashes(place, 0)
        self.cluster.move_leader(OFFSETS_TOPIC)

    # Commits.

    @rule(place=places)
    def running_tasks_commit(self, place: int) -> None:
        """A member that the coordinator knows with its epoch commits for the tasks that it runs."""
        coordinator, client = self.cluster.leader(OFFSETS_TOPIC), self.chosen(place)
        if coordinator is None or client is None:
            return
        for task in sorted(client.owned):
            error_code = self.cluster.commit(coordinator, client.name, client.epoch, task)
            member = self.cluster.member(client.name)
            if member is not None and member.member_epoch == client.epoch > 0:
                assert error_code == 0, (error_code, task)

    @rule(place=places)
    def closed_tasks_commit(self, place: int) -> None:
        """A commit that was delayed until another member has the task, or until its member is removed, is refused."""
        coordinator = self.cluster.leader(OFFSETS_TOPIC)
        if coordinator is None or not self.clients:
            return
        client = self.clients[place % len(self.clients)]
        held = sorted(client.active) if not client.alive or client.paused else []
        for epoch, task in [*client.past[-6:], *((client.epoch, task) for task in held)]:
            if self.cluster.group is None or epoch <= 0:
                return
            member = self.cluster.member(client.name)
            taken = any(task in other.owned for other in self.living if other is not client)
            error_code = self.cluster.commit(coordinator, client.name, epoch, task)
            if member is None or (taken and epoch < member.member_epoch):
                assert error_code != 0, (client.name, epoch, task)

    @rule(place=places)
    def commit_with_a_later_epoch(self, place: int) -> None:
        coordinator, client = self.cluster.leader(OFFSETS_TOPIC), self.chosen(place)
        if coordinator is not None and client is not None:
            epoch = self.group_epoch + 1_000
            assert self.cluster.commit(coordinator, client.name, epoch, ("2", 0)) != 0

    # Coordinators, topics and configurations.

    @precondition(lambda self: self.cluster.in_sync)
    @rule(ms=waits)
    def coordinator_moves(self, ms: int) -> None:
        self.cluster.move_leader(OFFSETS_TOPIC)
        self.cluster.run(ms)

    @precondition(lambda self: self.cluster.in_sync)
    @rule(replicas=st.integers(0, 2))
    def standby_replicas_change(self, replicas: int) -> None:
        self.replicas = replicas
        self.cluster.configure_group(GROUP, "streams.num.standby.replicas", str(replicas))

    @precondition(lambda self: self.cluster.in_sync)
    @rule()
    def partition_is_added(self) -> None:
        self.cluster.add_partition()

    @rule(ms=st.sampled_from([600, 2_000, SESSION_MS + 100]))
    def time_passes(self, ms: int) -> None:
        self.cluster.run(ms)

    # At all times.

    @invariant()
    def no_member_sees_an_error(self) -> None:
        assert [text for client in self.clients for text in client.violations] == []

    @invariant()
    def no_task_has_two_owners(self) -> None:
        """Neither at the coordinator, nor by the last heartbeats of the members that it has not removed."""
        group = None if self.cluster is None else self.cluster.group
        if group is None:
            return
        owned: list[Task] = []
        active: set[tuple[str, Task]] = set()
        standby: set[tuple[str, Task]] = set()
        for member in group.members.values():
            for held in (member.assigned, member.pending_revocation):
                tasks = list(each_task(partitions_of(held.active)))
                owned += tasks
                active |= {(member.process_id, task) for task in tasks}
                standby |= {(member.process_id, task) for task in each_task(held.standby)}
        assert len(owned) == len(set(owned)), owned
        assert not active & standby
        acknowledged = [task for client in self.living if client.name in group.members for task in client.owned]
        assert len(acknowledged) == len(set(acknowledged)), sorted(acknowledged)

    # At rest.

    def come_to_rest(self) -> None:
        for client in self.living:
            client.close_ms = 50
        self.cluster.run(AT_REST_MS)
        self.no_member_sees_an_error()
        self.no_task_has_two_owners()
        if self.living:
            self._check_tasks()

    def _check_tasks(self) -> None:
        living, group = self.living, self.cluster.group
        assert sorted(group.members) == sorted(client.name for client in living)
        assert group.state() is GroupState.STABLE, group.state()
        assert {client.epoch for client in living} == {group.group_epoch.get()}
        assert [client.statuses for client in living if client.statuses] == []
        active = sorted(task for client in living for task in client.active)
        assert active == sorted(self.cluster.tasks), active
        replicas = min(self.replicas, len({client.process for client in living}) - 1)
        for task in active:
            owners = [client.process for client in living if task in client.active]
            copies = [client.process for client in living if task in client.standby]
            assert len(copies) == (replicas if task[0] in STATEFUL else 0), (task, copies)
            assert len({*owners, *copies}) == 1 + len(copies), (task, owners, copies)
