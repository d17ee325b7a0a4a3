"""Stories of a cluster whose brokers crash, fall behind, are cut off and come back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import (
    BrokerFenced,
    BrokerKilled,
    BrokerStopped,
    BrokerUnfenced,
    Detail,
    IsrChanged,
    LeaderElected,
    LogTruncated,
)
from broker_sim.errors import BrokerSimError, ConfigError
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

Make = Any
SESSION_MS = 9_000
MIN_ISR_2 = {"min.insync.replicas": "2"}


@pytest.mark.parametrize("detail", list(Detail))
def test_acks_1_loses_what_followers_had_not_fetched_when_the_leader_crashed(replicas: Make, detail: Detail) -> None:
    cluster = replicas(detail=detail)
    assert cluster.produce(0, 1, 2).error_code is ErrorCode.NONE
    cluster.run(ms=600)
    cluster.hold_fetches(2, 3)
    cluster.run(ms=600)
    lost = [cluster.produce(value, acks=1) for value in (3, 4, 5, 6)]
    # The fetches that were parked already bring the first of them; nothing after it leaves the leader.
    assert [response.base_offset for response in lost] == [3, 4, 5, 6]
    survived = cluster.values(2)
    cluster.cluster.kill(1)
    cluster.release_fetches(2, 3)
    cluster.run(ms=SESSION_MS)
    assert cluster.leader() == 2
    assert cluster.produce(100, broker=2).base_offset == len(survived)
    cluster.cluster.restart(1)
    cluster.settle()
    assert cluster.values(1) == cluster.values(2) == cluster.values(3) == [*survived, 100]
    (truncated,) = cluster.journal.events_of(LogTruncated)
    assert (truncated.broker_id, truncated.leader_id, truncated.leader_epoch) == (1, 2, 1)
    assert (truncated.from_offset, truncated.to_offset) == (len(survived), 7)
    assert truncated.records == 7 - len(survived) == sum(batch.records_count for batch in truncated.batches)
    assert truncated.records >= 3


def test_acks_all_with_min_isr_2_loses_nothing_in_the_same_story(replicas: Make) -> None:
    cluster = replicas(topic_config=MIN_ISR_2)
    cluster.produce(0, 1, 2)
    cluster.run(ms=600)
    cluster.hold_fetches(2, 3)
    cluster.run(ms=600)
    responses = [cluster.send(value, timeout_ms=30_000) for value in (3, 4, 5, 6)]
    cluster.run(ms=100)
    acknowledged = [value for value, response in zip((3, 4, 5, 6), responses, strict=True) if response]
    cluster.cluster.kill(1)
    cluster.release_fetches(2, 3)
    cluster.run(ms=SESSION_MS)
    cluster.cluster.restart(1)
    cluster.settle()
    stored = cluster.values(2)
    assert cluster.values(1) == cluster.values(3) == stored
    assert set(acknowledged) <= set(stored)
    assert len(acknowledged) < 4
    assert not any(response for response in responses if response and response[0].error_code is not ErrorCode.NONE)


def test_a_follower_that_lags_leaves_the_isr_and_comes_back_when_it_has_caught_up(replicas: Make) -> None:
    cluster = replicas(config={"replica.lag.time.max.ms": "3000"})
    cluster.produce(0)
    cluster.cluster.links.link(1, 3).hold()
    cluster.produce(1, acks=1)
    cluster.run(ms=2_900)
    assert cluster.isr() == (1, 2, 3)
    assert cluster.high_watermark(1) == 1
    cluster.run(ms=1_700)
    assert cluster.isr() == (1, 2)
    assert cluster.high_watermark(1) == 2
    cluster.cluster.links.link(1, 3).release()
    cluster.run(ms=1_000)
    assert cluster.isr() == (1, 2, 3)
    assert cluster.values(3) == [0, 1]
    shrunk, expanded = cluster.journal.events_of(IsrChanged)
    assert (shrunk.previous_isr, shrunk.isr) == ((1, 2, 3), (1, 2))
    assert (expanded.isr, expanded.leader_epoch) == ((1, 2, 3), 0)


def test_a_follower_with_everything_stays_in_the_isr_however_long_nothing_comes(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.run(ms=3_600_000)
    assert cluster.produce(1).error_code is ErrorCode.NONE
    cluster.run(ms=60_000)
    assert cluster.journal.events_of(IsrChanged) == []


def test_an_isolated_leader_gives_way_and_truncates_what_it_took_alone(replicas: Make) -> None:
    cluster = replicas(topic_config=MIN_ISR_2)
    cluster.produce(0)
    cluster.run(ms=600)
    cluster.cluster.isolate(1)
    zombie = cluster.send(1, timeout_ms=5_000)
    alone = cluster.produce(2, acks=1)
    assert alone.error_code is ErrorCode.NONE
    cluster.run(ms=SESSION_MS)
    assert zombie[0].error_code is ErrorCode.REQUEST_TIMED_OUT
    assert zombie[0].base_offset == 1
    assert cluster.leader() == 2
    assert cluster.partition(1).is_leader
    assert cluster.high_watermark(1) == 1
    assert cluster.produce(10, broker=2).base_offset == 1
    cluster.cluster.rejoin(1)
    cluster.settle()
    assert cluster.values(1) == cluster.values(2) == [0, 10]
    (truncated,) = cluster.journal.events_of(LogTruncated)
    assert (truncated.broker_id, truncated.from_offset, truncated.to_offset) == (1, 1, 3)


def test_a_wait_for_acks_of_a_deposed_leader_ends_with_not_leader(replicas: Make) -> None:
    cluster = replicas()
    for follower in (2, 3):
        cluster.cluster.links.link(1, follower).cut()
        cluster.cluster.links.link(follower, 1).cut()
    cluster.cluster.links.link(1, 3000).cut()
    waiting = cluster.send(1, timeout_ms=60_000)
    cluster.run(ms=SESSION_MS + 2_000)
    assert waiting[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert waiting[0].base_offset == 0


@pytest.mark.parametrize("unclean", ["true", "false"])
def test_an_unclean_election_happens_only_where_it_is_allowed_and_loses_records(replicas: Make, unclean: str) -> None:
    config = {"replica.lag.time.max.ms": "2000"}
    cluster = replicas(
        config=config, topic_config={"unclean.leader.election.enable": unclean}, replication_factor=2, brokers=2
    )
    cluster.produce(0)
    cluster.cluster.isolate(2)
    cluster.run(ms=SESSION_MS + 3_000)
    assert cluster.isr() == (1,)
    cluster.produce(1, 2)
    cluster.cluster.kill(1)
    cluster.cluster.rejoin(2)
    cluster.run(ms=SESSION_MS + 3_000)
    elected = cluster.journal.events_of(LeaderElected)[-1]
    if unclean == "false":
        assert cluster.leader() is None
        assert not elected.unclean
        return
    assert cluster.leader() == 2
    assert elected.unclean
    assert elected.isr == (2,)
    assert cluster.produce(9, broker=2).base_offset == 1
    cluster.cluster.restart(1)
    cluster.settle()
    assert cluster.values(1) == cluster.values(2) == [0, 9]


@pytest.mark.parametrize(("release", "isr"), [("3.7.2", (1,)), ("4.3.1", ())])
def test_the_only_replica_offline_keeps_its_isr_on_3_7_and_empties_it_on_4_3(
    replicas: Make, release: str, isr: tuple[int, ...]
) -> None:
    cluster = replicas(release=release, replication_factor=1)
    cluster.produce(0)
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS)
    assert cluster.leader() is None
    assert cluster.isr() == isr
    cluster.cluster.restart(1)
    cluster.settle()
    assert cluster.isr() == (1,)
    assert cluster.produce(1).base_offset == 1


def test_a_controlled_shutdown_moves_leaderships_before_the_broker_goes(replicas: Make) -> None:
    cluster = replicas(partitions=6)
    cluster.produce(0)
    stopped = cluster.cluster.stop(1)
    cluster.world.run_until(stopped, deadline_ms=10_000)
    kinds = [event.kind for event in cluster.journal.events_of(LeaderElected, BrokerFenced, BrokerStopped)][6:]
    assert kinds == ["LeaderElected", "LeaderElected", "BrokerFenced", "BrokerStopped"]
    assert cluster.leader() == 2
    assert cluster.produce(1, broker=2).error_code is ErrorCode.NONE
    running = cluster.cluster.restart(1)
    cluster.world.run_until(running, deadline_ms=1_000)
    cluster.settle()
    assert cluster.values(1) == [0, 1]


def test_a_broker_that_restarts_within_its_session_waits_until_the_old_session_ends(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.kill(1)
    running = cluster.cluster.restart(1)
    cluster.run(ms=1_000)
    assert not running.called
    assert cluster.produce(1, broker=1, acks=1).error_code is not ErrorCode.NONE
    cluster.run(ms=12_000)
    assert running.called
    fenced, unfenced = cluster.journal.events_of(BrokerFenced, BrokerUnfenced)
    assert (fenced.kind, unfenced.kind) == ("BrokerFenced", "BrokerUnfenced")
    assert unfenced.broker_epoch > fenced.broker_epoch
    cluster.settle()
    assert cluster.leader() == 2


def test_leaderships_go_back_to_preferred_leaders_after_the_rebalance_interval(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS + 1_000)
    cluster.cluster.restart(1)
    cluster.settle()
    assert cluster.leader() == 2
    cluster.run(ms=300_000)
    assert cluster.leader() == 1
    cluster.settle()


def test_stale_metadata_stays_until_its_lag_is_over(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.broker(3).metadata_lag_ms = 5_000
    cluster.cluster.kill(1)
    cluster.run(ms=SESSION_MS)
    assert cluster.leader() == 2
    stale = cluster.cluster.broker(3).metadata_cache.image.partition(*cluster.topic)
    assert stale.leader == 1
    cluster.run(ms=5_000)
    assert cluster.cluster.broker(3).metadata_cache.image.partition(*cluster.topic).leader == 2


def test_topics_come_and_go_on_every_broker(replicas: Make) -> None:
    cluster = replicas()
    created = cluster.cluster.create_topic(TopicSpec(name="u", partitions=2, replication_factor=2))
    assert cluster.world.run_until(created, deadline_ms=100).name == "u"
    assert cluster.cluster.leader_of("u", 1) == 2
    assert cluster.cluster.log_of(3, "u", 1) is not None
    deleted = cluster.cluster.delete_topic("u")
    cluster.world.run_until(deleted, deadline_ms=100)
    assert cluster.cluster.log_of(3, "u", 1) is None
    with pytest.raises(BrokerSimError, match="there is no topic 'u'"):
        cluster.cluster.leader_of("u", 1)


def test_a_topic_made_anew_starts_empty(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0, 1)
    cluster.world.run_until(cluster.cluster.delete_topic("t"), deadline_ms=100)
    cluster.world.run_until(cluster.cluster.create_topic(TopicSpec(name="t", replication_factor=3)), deadline_ms=100)
    assert cluster.produce(7).base_offset == 0
    cluster.settle()
    assert cluster.values(3) == [7]


def test_pending_names_each_reason(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.hold_fetches(2)
    cluster.produce(1, acks=1)
    cluster.run(ms=1)
    cluster.produce(2, acks=1)
    cluster.run(ms=10)
    assert cluster.cluster.pending() == [
        "t-0 has the high watermark 1 of 3",
        "t-0 ends at 2 on broker 2, at 3 on its leader",
    ]
    cluster.cluster.kill(3)
    assert "broker 3 is down" in cluster.cluster.pending()


def test_the_verbs_name_a_broker_that_does_not_exist(replicas: Make) -> None:
    cluster = replicas()
    for verb in (cluster.cluster.kill, cluster.cluster.restart, cluster.cluster.isolate):
        with pytest.raises(BrokerSimError, match=r"no broker 9: they are \[1, 2, 3\]"):
            verb(9)


def test_a_topic_spec_is_read_from_text_and_refused_with_an_example() -> None:
    assert TopicSpec.parse("orders:6:3") == TopicSpec(name="orders", partitions=6, replication_factor=3)
    assert TopicSpec.parse("orders") == TopicSpec(name="orders")
    for text in ("", "orders:x", "orders:0", "orders:1:2:3"):
        with pytest.raises(ConfigError, match="orders:6:3"):
            TopicSpec.parse(text)


def test_more_replicas_than_brokers_and_odd_sizes_are_refused() -> None:
    world = World()
    with pytest.raises(BrokerSimError, match="replication factor 3 with 1 brokers"):
        Cluster(
            reactor=world.reactor,
            streams=world.streams,
            brokers=1,
            topics=[TopicSpec(name="t", replication_factor=3)],
        )
    with pytest.raises(BrokerSimError, match="brokers: 0"):
        Cluster(reactor=world.reactor, streams=world.streams, brokers=0)
    with pytest.raises(BrokerSimError, match="2 were given for 3 brokers"):
        Cluster(reactor=world.reactor, streams=world.streams, ports=[1, 2])


def test_an_idle_hour_is_heartbeats_and_little_else(replicas: Make) -> None:
    cluster = replicas(detail=Detail.CLUSTER)
    cluster.produce(0)
    cluster.run(ms=1_000)
    before = cluster.reactor.calls_made
    cluster.run(ms=3_600_000)
    heartbeats = 3 * 1800
    assert cluster.reactor.calls_made - before < heartbeats * 1.5


STORY = """
import sys
sys.path.insert(0, sys.argv[2])
from conftest import Replicas
cluster = Replicas(seed=int(sys.argv[1]), partitions=4, link_delay_ms=0.5)
cluster.produce(0, 1)
cluster.cluster.kill(1)
cluster.run(ms=9_000)
cluster.produce(2, broker=2)
cluster.cluster.restart(1)
cluster.cluster.isolate(3)
cluster.run(ms=20_000)
cluster.cluster.rejoin(3)
cluster.settle()
print(cluster.world.digest.hexdigest(), cluster.world.fingerprint())
"""


def run_story(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", STORY, str(seed), str(Path(__file__).parent)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_one_seed_gives_one_digest_with_any_hash_seed() -> None:
    assert run_story(7, "0") == run_story(7, "4711")
    assert run_story(7, "0") != run_story(8, "0")


def test_a_killed_broker_leaves_no_timer_behind(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.produce(0)
    for broker in (1, 2, 3):
        cluster.cluster.kill(broker)
    assert len(cluster.journal.events_of(BrokerKilled)) == 3
    cluster.run(ms=SESSION_MS)
    names = [repr(call) for call in cluster.reactor.getDelayedCalls()]
    assert all("Controller" in name or "RepeatingCall" in name or "BrokerSessions" in name for name in names), names
