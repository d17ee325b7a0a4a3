"""Voters whose log is trimmed: who is too far behind begins with the leader's snapshot (KIP-630)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import Detail
from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftBatch, RaftLog, RaftSnapshot
from sim_runtime.world import World

if TYPE_CHECKING:
    from broker_sim.controller.group.controller_node import ControllerNode

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "2000", "controller.quorum.fetch.timeout.ms": "1000"}


class Trimmed:
    """Two brokers and three controllers that make a snapshot every 2,000 bytes."""

    def __init__(self, seed: int, release: str) -> None:
        self.world = World(seed)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=2,
            controllers=3,
            config=OFTEN,
            release=release,
            listen=False,
            digest=self.world.digest,
            journal_detail=Detail.FULL,
        )
        self.cluster.start()
        self.made = 0

    def make_topics(self, count: int) -> None:
        for _ in range(count):
            self.made += 1
            spec = TopicSpec(name=f"topic-{self.made}", partitions=2, replication_factor=2)
            self.world.run_until(self.cluster.create_topic(spec))

    def node(self, node_id: int) -> ControllerNode:
        quorum = self.cluster._quorum
        assert quorum is not None
        return quorum.nodes[node_id]


@pytest.fixture(params=["3.7.2", "4.3.1"])
def trimmed(request: pytest.FixtureRequest) -> Trimmed:
    return Trimmed(1, request.param)


def topics_of(node: ControllerNode) -> list[str]:
    return sorted(node.controller.committed_image.topics)


def test_a_voter_lets_go_what_a_snapshot_holds(trimmed: Trimmed) -> None:
    trimmed.make_topics(60)
    trimmed.world.run_for(ms=1_000)
    for node_id in (3000, 3001, 3002):
        log = trimmed.node(node_id).storage.log
        assert log.snapshot is not None
        assert 0 < log.start_offset <= log.snapshot.id.offset <= log.end_offset
        assert log.batches[0].base_offset == log.start_offset
        assert log.start_offset == trimmed.node(node_id).controller.log.start_offset


def test_a_voter_that_is_too_far_behind_begins_with_the_leaders_snapshot(trimmed: Trimmed) -> None:
    trimmed.cluster.kill(3002)
    trimmed.make_topics(60)
    behind, leader = trimmed.node(3002), trimmed.node(3000)
    assert behind.storage.log.end_offset < leader.storage.log.start_offset
    trimmed.cluster.restart(3002)
    trimmed.world.run_until(lambda: trimmed.cluster.pending() == [], deadline_ms=30_000)
    trimmed.world.run_for(ms=1_000)
    assert behind.storage.log.snapshot is not None
    assert behind.storage.log.start_offset > 0
    assert behind.controller.committed_image.topics == leader.controller.committed_image.topics
    assert behind.controller.committed_image.brokers == leader.controller.committed_image.brokers


def test_who_began_with_a_snapshot_can_lead(trimmed: Trimmed) -> None:
    trimmed.cluster.kill(3002)
    trimmed.make_topics(60)
    trimmed.cluster.restart(3002)
    trimmed.world.run_for(ms=3_000)
    trimmed.cluster.kill(3001)
    trimmed.make_topics(1)  # 3002 has what is committed: only it could agree
    trimmed.cluster.kill(3000)
    trimmed.cluster.restart(3001)
    trimmed.world.run_until(lambda: trimmed.cluster.active_controller is not None, deadline_ms=60_000)
    assert len(topics_of(trimmed.node(trimmed.cluster.active_controller or 0))) == 61
    trimmed.make_topics(30)
    trimmed.cluster.restart(3000)
    trimmed.world.run_until(lambda: trimmed.cluster.pending() == [], deadline_ms=60_000)
    trimmed.world.run_for(ms=1_000)
    assert all(len(topics_of(trimmed.node(each))) == 91 for each in (3000, 3001, 3002))


def test_a_voter_that_starts_again_goes_on_after_its_own_snapshot(trimmed: Trimmed) -> None:
    trimmed.make_topics(60)
    trimmed.world.run_for(ms=1_000)
    start_offset = trimmed.node(3001).storage.log.start_offset
    trimmed.cluster.restart(3001)
    assert trimmed.node(3001).controller.log.start_offset >= start_offset
    trimmed.make_topics(1)
    trimmed.world.run_until(lambda: trimmed.cluster.pending() == [], deadline_ms=30_000)
    trimmed.world.run_for(ms=1_000)
    assert len(topics_of(trimmed.node(3001))) == 61


def test_equal_seeds_make_equal_runs() -> None:
    digests = []
    for _ in range(2):
        run = Trimmed(7, "4.3.1")
        run.cluster.kill(3002)
        run.make_topics(50)
        run.cluster.restart(3002)
        run.world.run_for(ms=5_000)
        digests.append(run.world.fingerprint())
    assert digests[0] == digests[1]


def batch(offset: int, epoch: int = 1, content: Any = "x") -> RaftBatch:
    return RaftBatch(base_offset=offset, last_offset=offset, epoch=epoch, content=content)


def test_a_snapshot_stands_for_what_is_gone() -> None:
    log = RaftLog()
    for offset in range(10):
        log.append(batch(offset, epoch=1 + offset // 5))
    snapshot = RaftSnapshot(id=OffsetAndEpoch(8, 2), encode=lambda: b"")
    log.keep_snapshot(snapshot, start_offset=6)
    assert (log.start_offset, log.end, [each.base_offset for each in log.batches]) == (6, (10, 2), [6, 7, 8, 9])
    assert (log.snapshot_for(5), log.snapshot_for(6)) == (snapshot, None)
    assert log.divergence(10, 2) is None
    assert log.read(7, until=9) == list(log.batches[1:3])


def test_a_log_that_begins_with_a_snapshot_goes_on_after_it() -> None:
    log = RaftLog()
    log.append(batch(0))
    log.begin_with(RaftSnapshot(id=OffsetAndEpoch(8, 2), encode=lambda: b""))
    assert (log.start_offset, log.end, log.batches) == (8, (8, 2), ())
    log.append(batch(8, epoch=2))
    assert log.end == (9, 2)


def test_a_large_snapshot_comes_in_parts(quorum: Any) -> None:
    table = quorum()
    leader = table.elect()
    table.run(600)
    behind = next(voter for voter in table.voters if voter != leader)
    table.kill(behind)
    for number in range(20):
        table.append(leader, str(number))
        table.run(60)
    log = table.replicas[leader].log
    end, epoch = table.replicas[leader].high_watermark, table.replicas[leader].epoch
    data = bytes(range(256)) * 10_000
    log.keep_snapshot(RaftSnapshot(id=OffsetAndEpoch(end, epoch), encode=lambda: data), start_offset=end)
    table.start(behind)
    table.run(3_000)
    own = table.replicas[behind].log
    assert own.snapshot is not None
    assert own.snapshot.encode() == data
    assert own.end == log.end
    table.append(leader, "after")
    table.run(1_000)
    assert table.contents(behind) == ["after"]
