"""Operations, commits, failures, moves and replays of a coordinator's shards."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import peek_header
from tests.broker_sim.coordinators.runtime.counting_shard import record


def test_a_write_is_in_the_log_and_returns_its_response(bench):
    api = bench()
    assert api.write(lambda shard: shard.add("a")) == [1]
    assert api.write(lambda shard: shard.add("a")) == [2]
    assert api.cluster.log_of(1, "__consumer_offsets", 0).log_end_offset == 2


def test_a_write_waits_for_the_followers(bench):
    api = bench(brokers=3, replicas=3)
    follower = next(each for each in api.cluster.brokers if each != api.leader)
    api.cluster.link(follower, api.leader).cut()
    ended = api.write(lambda shard: shard.add("a"))
    assert ended == []
    assert api.shard.counts.get("a") == 1
    assert api.runtime.read(0, lambda shard, offset: shard.counts.get_at("a", offset)) is None
    api.cluster.link(follower, api.leader).restore()
    api.settle(2_000)
    assert ended == [1]
    assert api.runtime.read(0, lambda shard, offset: shard.counts.get_at("a", offset)) == 1


def test_a_write_without_records_waits_for_the_writes_before_it(bench):
    api = bench(brokers=3, replicas=3)
    follower = next(each for each in api.cluster.brokers if each != api.leader)
    api.cluster.link(follower, api.leader).cut()
    api.write(lambda shard: shard.add("a"))
    ended = api.write(lambda _: CoordinatorResult([], "seen"))
    assert ended == []
    api.cluster.link(follower, api.leader).restore()
    api.settle(2_000)
    assert ended == ["seen"]


def test_a_write_that_is_not_committed_in_time_fails_and_stays(bench):
    api = bench(brokers=3, replicas=3, write_timeout_ms=50)
    for follower in api.cluster.brokers:
        if follower != api.leader:
            api.cluster.link(follower, api.leader).cut()
    ended = api.write(lambda shard: shard.add("a"))
    api.settle(60)
    assert [error.error_code for error in ended] == [ErrorCode.REQUEST_TIMED_OUT]
    assert api.shard.counts.get("a") == 1


def test_a_refused_operation_changes_nothing(bench):
    api = bench()
    ended = api.write(lambda shard: shard.refuse())
    assert [error.error_code for error in ended] == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert api.cluster.log_of(1, "__consumer_offsets", 0).log_end_offset == 0


def test_a_failed_append_reverts_the_state(bench):
    api = bench()
    api.write(lambda shard: shard.add("a"))
    log = api.cluster.log_of(1, "__consumer_offsets", 0)
    broker = api.cluster.brokers[1]
    leads = broker.replica_manager.partitions[log.topic_partition]
    leads.leader_id = 9
    ended = api.write(lambda shard: shard.add("a", 5))
    leads.leader_id = 1
    assert [error.error_code for error in ended] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert api.shard.counts.get("a") == 1
    assert api.write(lambda shard: shard.add("a")) == [2]


def test_an_operation_larger_than_a_batch_is_refused(bench):
    api = bench()
    too_many = CoordinatorResult([record(f"{number:0100}", 1) for number in range(12_000)], None)
    ended = api.write(lambda _: too_many)
    assert [error.error_code for error in ended] == [ErrorCode.MESSAGE_TOO_LARGE]
    assert len(api.shard.counts) == 0


def test_a_cleanup_spans_batches(bench):
    api = bench()
    many = CoordinatorResult([record(f"{number:0100}", 1) for number in range(12_000)], "done", atomic=False)
    assert api.write(lambda _: many) == ["done"]
    assert len(api.shard.counts) == 12_000
    assert len(list(api.cluster.log_of(1, "__consumer_offsets", 0).batches())) == 2


def test_a_cleanup_may_start_batches(bench):
    api = bench()
    records = [record("a", 1), record("b", 1), record("c", None)]
    cleanup = CoordinatorResult(records, "done", atomic=False, batch_starts=frozenset({0, 2}))
    assert api.write(lambda _: cleanup) == ["done"]
    batches = [peek_header(batch.data) for batch in api.cluster.log_of(1, "__consumer_offsets", 0).batches()]
    assert [(header.records_count, header.base_sequence) for header in batches] == [(2, 0), (1, -1)]


def test_linger_joins_operations_in_one_batch(bench):
    api = bench(linger_ms=5)
    first = api.write(lambda shard: shard.add("a"))
    second = api.write(lambda shard: shard.add("a"))
    assert (first, second) == ([], [])
    api.settle(10)
    assert (first, second) == ([1], [2])
    assert [batch.records_count for batch in api.cluster.log_of(1, "__consumer_offsets", 0).batches()] == [2]


def test_a_new_leader_replays_the_log(bench):
    api = bench(brokers=3, replicas=3)
    old = api.leader
    for _ in range(3):
        api.write(lambda shard: shard.add("a"))
    api.write(lambda _: CoordinatorResult([record("b", 7)], None))
    api.write(lambda _: CoordinatorResult([record("b", None)], None))
    api.settle()
    api.cluster.kill(old)
    api.settle(30_000)
    assert api.leader != old
    assert dict(api.shard.counts.items()) == {"a": 3}
    assert api.shard.calls[0] == "loaded"


def test_a_shard_that_moves_fails_what_waits_with_not_coordinator(bench):
    api = bench(brokers=3, replicas=3)
    old = api.leader
    shard = api.shard
    followers = [each for each in api.cluster.brokers if each != old]
    for follower in followers:
        api.cluster.link(follower, old).cut()
    ended = api.write(lambda shard: shard.add("a"))
    api.runtime.resigned(0)
    assert [error.error_code for error in ended] == [ErrorCode.NOT_COORDINATOR]
    assert shard.calls[-1] == "unloaded"
    ended = api.write(lambda shard: shard.add("a"))
    assert [error.error_code for error in ended] == [ErrorCode.NOT_COORDINATOR]


def test_a_loading_shard_refuses(bench):
    api = bench()
    api.runtime.resigned(0)
    api.runtime.elected(0, 5)
    ended = api.write(lambda shard: shard.add("a"))
    assert [error.error_code for error in ended] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    with pytest.raises(CoordinatorError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        api.runtime.read(0, lambda *_: None)
    api.settle()
    assert api.write(lambda shard: shard.add("a")) == [1]


def test_events_inside_an_operation_run_after_it(bench):
    api = bench()
    order = []

    def outer(shard):
        api.runtime.write(0, "inner", inner)
        order.append("outer")
        return shard.add("a")

    def inner(shard):
        order.append("inner")
        return shard.add("a")

    assert api.write(outer) == [1]
    assert order == ["outer", "inner"]
    assert api.shard.counts.get("a") == 2


def test_timers_write_and_retry(bench):
    api = bench()
    shard = api.shard
    failures = [True]

    def operation():
        if failures:
            failures.pop()
            return shard.refuse()
        return shard.add("timer")

    shard.context.timers.schedule("t", 100, operation)
    api.settle(150)
    assert shard.counts.get("timer") is None
    api.settle(600)
    assert shard.counts.get("timer") == 1


def test_deleted_topics_are_reported(bench):
    api = bench()
    old = api.cluster.brokers[1].metadata_cache.image
    api.runtime.apply_image(old, old.without_topics(["other"]))
    assert api.shard.calls[-1] == "changed [] deleted ['other']"
