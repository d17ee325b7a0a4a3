"""A quorum on a network of its own: every message is in a list until it is delivered, dropped or left for later."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.quorum.epoch_states import EpochState
from broker_sim.quorum.raft_log import RaftBatch, RaftStorage
from broker_sim.quorum.raft_messages import RaftMessages
from broker_sim.quorum.raft_outputs import Committed, LeaderChanged, SendRequest, SendResponse, SnapshotLoaded
from broker_sim.quorum.raft_replica import RaftReplica
from broker_sim.quorum.raft_settings import RaftSettings

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTER_ID = "quorum-under-test"


@dataclass(slots=True, kw_only=True, eq=False)
class Packet:
    """A message on its way; `response` is None for a request."""

    source: int
    destination: int
    correlation_id: int
    due_ms: float
    request: Any = None
    response: Any = None


@dataclass(slots=True, kw_only=True)
class Seen:
    """The notifications of one process since its start."""

    committed: list[RaftBatch] = field(default_factory=list)
    leaders: list[tuple[int, int]] = field(default_factory=list)
    begins_at: int = 0
    """Where the snapshot ends that it began with."""


class QuorumOnATable:
    """Voters 1 to n. Time passes only in `run`; packets take `delay_ms`, or a time of their own."""

    def __init__(self, *, voters: int = 3, release: str = "4.3.1", seed: int = 0, delay_ms: float = 1.0) -> None:
        self.voters = list(range(1, voters + 1))
        self.release = release
        self.random = Random(seed)
        self.delay_ms = delay_ms
        self.now_ms = 0.0
        self.storages = {voter: RaftStorage(voters=tuple(self.voters)) for voter in self.voters}
        self.replicas: dict[int, RaftReplica] = {}
        self.seen: dict[int, Seen] = {}
        self.packets: list[Packet] = []
        self.cuts: set[tuple[int, int]] = set()
        self.settings = RaftSettings(pre_vote=release >= "4")
        self.leaders_of_epochs: dict[int, int] = {}
        self.ever_committed: dict[int, tuple[int, Any]] = {}
        for voter in self.voters:
            self.start(voter)

    # Operations of tests and tools.

    def start(self, voter: int) -> None:
        messages = RaftMessages(
            release=self.release, cluster_id=CLUSTER_ID, node_id=voter, directory_id=bytes([voter]) * 16
        )
        self.replicas[voter] = RaftReplica(
            node_id=voter,
            voters=self.voters,
            settings=self.settings,
            messages=messages,
            storage=self.storages[voter],
            random=Random(self.random.getrandbits(32)),
        )
        self.seen[voter] = Seen()
        self.replicas[voter].initialize(self.now_ms)
        self._take(voter)

    def kill(self, voter: int) -> None:
        """Lose its packets, both ways; the senders of requests to it see a closed connection."""
        self.replicas.pop(voter, None)
        for packet in [each for each in self.packets if voter in (each.source, each.destination)]:
            self.packets.remove(packet)
            if packet.request is not None and packet.source != voter:
                self._fail(packet)

    def cut(self, first: int, second: int) -> None:
        self.cuts |= {(first, second), (second, first)}

    def isolate(self, voter: int) -> None:
        for other in self.voters:
            if other != voter:
                self.cut(voter, other)

    def heal(self) -> None:
        self.cuts.clear()

    def drop(self, packet: Packet) -> None:
        self.packets.remove(packet)

    def append(self, voter: int, content: Any) -> RaftBatch:
        batch = self.replicas[voter].append(content, records=1, now_ms=self.now_ms)
        self._take(voter)
        return batch

    def resign(self, voter: int) -> None:
        self.replicas[voter].resign(self.now_ms)
        self._take(voter)

    def deliver(self, packet: Packet) -> None:
        """Deliver a packet, independent of those before it."""
        self.packets.remove(packet)
        if (packet.source, packet.destination) in self.cuts:
            return
        replica = self.replicas.get(packet.destination)
        if replica is None:
            if packet.request is not None:
                self._fail(packet)
            return
        if packet.request is not None:
            replica.receive_request(packet.source, packet.correlation_id, packet.request, self.now_ms)
        else:
            replica.receive_response(packet.source, packet.correlation_id, packet.response, self.now_ms)
        self._take(packet.destination)

    def run(self, ms: float) -> None:
        """Let time pass, packet by packet and timer by timer."""
        end_ms = self.now_ms + ms
        turns = 0
        while True:
            turns += 1
            assert turns < 2_000 + 10 * ms, f"the quorum does not come to rest: {self.describe()}"
            dues = [packet.due_ms for packet in self.packets]
            dues += [replica.due_ms for replica in self.replicas.values()]
            due_ms = min(dues, default=float("inf"))
            if due_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, due_ms)
            for packet in [each for each in self.packets if each.due_ms <= self.now_ms]:
                if packet in self.packets:
                    self.deliver(packet)
            for voter in list(self.replicas):
                if self.replicas[voter].due_ms <= self.now_ms:
                    self.replicas[voter].poll(self.now_ms)
                    self._take(voter)
        self.now_ms = end_ms

    def run_until(self, condition: Callable[[], object], *, within_ms: float) -> float:
        """How long it took; asserts that it came about."""
        started_ms = self.now_ms
        while not condition():
            assert self.now_ms - started_ms < within_ms, f"not within {within_ms} ms: {self.describe()}"
            self.run(5)
        return self.now_ms - started_ms

    def elect(self, *, within_ms: float = 30_000) -> int:
        """Run until one voter leads all that run and can be reached; return its id."""
        self.run_until(lambda: self.leader is not None, within_ms=within_ms)
        assert self.leader is not None
        return self.leader

    # Queries.

    @property
    def leader(self) -> int | None:
        """The leader of the highest epoch, when a majority follows it."""
        for voter, replica in self.replicas.items():
            if replica.state is EpochState.LEADER and replica.epoch == max(
                each.epoch for each in self.replicas.values()
            ):
                followers = [each for each in self.replicas.values() if each.leader_id == voter]
                if len(followers) > len(self.voters) // 2:
                    return voter
        return None

    def contents(self, voter: int) -> list[Any]:
        """The contents that were committed to a process, without the leader changes."""
        return [batch.content for batch in self.seen[voter].committed if not batch.is_control]

    def describe(self) -> str:
        return ", ".join(
            f"{voter}: {each.state.name} epoch {each.epoch} leader {each.leader_id} end {each.log.end_offset} "
            f"hw {each.high_watermark} due {each.due_ms - self.now_ms:+g}"
            for voter, each in self.replicas.items()
        )

    # Helpers.

    def _fail(self, packet: Packet) -> None:
        replica = self.replicas.get(packet.source)
        if replica is not None:
            replica.receive_failure(packet.destination, packet.correlation_id, self.now_ms)
            self._take(packet.source)

    def _take(self, voter: int) -> None:
        due_ms = self.now_ms + self.delay_ms
        replica = self.replicas[voter]
        for output in replica.take_outbox():
            if isinstance(output, SendRequest):
                self.packets.append(
                    Packet(
                        source=voter,
                        destination=output.destination,
                        correlation_id=output.correlation_id,
                        due_ms=due_ms,
                        request=output.request,
                    )
                )
            elif isinstance(output, SendResponse):
                self.packets.append(
                    Packet(
                        source=voter,
                        destination=output.destination,
                        correlation_id=output.correlation_id,
                        due_ms=due_ms,
                        response=output.response,
                    )
                )
            elif isinstance(output, Committed):
                self.seen[voter].committed.extend(output.batches)
            elif isinstance(output, SnapshotLoaded):
                self.seen[voter].committed.clear()
                self.seen[voter].begins_at = output.snapshot.id.offset
            else:
                assert isinstance(output, LeaderChanged)
                self.seen[voter].leaders.append((output.epoch, output.leader_id))
        self._check(voter)

    def _check(self, voter: int) -> None:
        """Check the invariants after a step of a voter."""
        replica = self.replicas[voter]
        if replica.state is EpochState.LEADER:
            assert self.leaders_of_epochs.setdefault(replica.epoch, voter) == voter, "an epoch has one leader"
        offset = self.seen[voter].begins_at
        for batch in self.seen[voter].committed:
            assert batch.base_offset == offset, "a process receives every committed batch, in order"
            offset = batch.last_offset + 1
            known = self.ever_committed.setdefault(batch.base_offset, (batch.epoch, batch.content))
            assert known == (batch.epoch, batch.content), "what is committed stays"
        assert offset <= replica.log.end_offset
        own = {batch.base_offset: batch for batch in replica.log.batches}
        for batch in self.seen[voter].committed:
            if batch.base_offset < replica.log.start_offset:
                continue  # a snapshot stands for it
            assert own[batch.base_offset] == batch, "what is committed is in the log"


@pytest.fixture
def quorum() -> Callable[..., QuorumOnATable]:
    """Makes quorums."""
    return QuorumOnATable
