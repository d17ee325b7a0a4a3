"""Operations that apply their only record themselves: they complete, wait, fail and revert as all others do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.coordinators.runtime.pending_writes import PendingWrite
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.runtime.counting_shard import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.runtime.conftest import RuntimeBench
    from tests.broker_sim.coordinators.runtime.counting_shard import CountingShard


def add_applied(shard: CountingShard, _offset: int, _now_ms: int) -> tuple[bytes, bytes]:
    """Increment a count, and return the record."""
    value = (shard.counts.get("a") or 0) + 1
    shard.counts["a"] = value
    key, encoded = record("a", value).encode()
    assert encoded is not None
    return key, encoded


def write_applied(api: RuntimeBench, operation: Callable[..., Any] = add_applied) -> Any:
    """Run an operation of one record; return what it returns, or the list that gets its end."""
    runner = api.runtime.runner(0)
    assert runner is not None
    written = runner.write_applied(operation)
    if not isinstance(written, PendingWrite):
        return written
    ended: list[Any] = []
    written.response = "late"
    written.then(ended.append, lambda error: ended.append(error.error_code))
    return ended


def test_the_log_and_the_state_are_those_of_any_write(bench: Callable[..., RuntimeBench]) -> None:
    applied, written = bench(), bench()
    assert [write_applied(applied) for _ in range(3)] == [True] * 3
    for _ in range(3):
        written.write(lambda shard: shard.add("a"))
    logs = [api.cluster.log_of(1, "__consumer_offsets", 0) for api in (applied, written)]
    assert [batch.data for batch in logs[0].batches()] == [batch.data for batch in logs[1].batches()]
    assert applied.shard.counts.items() == written.shard.counts.items() == [("a", 3)]


@pytest.mark.parametrize(("timeout_ms", "end"), [(5_000, "late"), (50, ErrorCode.REQUEST_TIMED_OUT)])
def test_it_waits_for_the_followers(bench: Callable[..., RuntimeBench], timeout_ms: int, end: object) -> None:
    api = bench(brokers=2, replicas=2, write_timeout_ms=timeout_ms)
    assert write_applied(api) is True
    follower = next(each for each in api.cluster.brokers if each != api.leader)
    api.cluster.link(follower, api.leader).cut()
    ended = write_applied(api)
    assert ended == []
    assert api.runtime.read(0, lambda shard, offset: shard.counts.get_at("a", offset)) == 1
    api.settle(60)
    api.cluster.link(follower, api.leader).restore()
    api.settle(2_000)
    assert ended == [end]
    assert api.runtime.read(0, lambda shard, offset: shard.counts.get_at("a", offset)) == 2


def test_a_failed_append_reverts_the_state(bench: Callable[..., RuntimeBench]) -> None:
    api = bench()
    write_applied(api)
    log = api.cluster.log_of(1, "__consumer_offsets", 0)
    leads = api.cluster.brokers[1].replica_manager.partitions[log.topic_partition]
    leads.leader_id = 9
    assert write_applied(api) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    leads.leader_id = 1
    assert api.shard.counts.get("a") == 1
    assert write_applied(api) is True
    assert api.shard.counts.get("a") == 2


def test_events_inside_it_run_after_it(bench: Callable[..., RuntimeBench]) -> None:
    api = bench()
    order = []

    def outer(shard: CountingShard, offset: int, now_ms: int) -> tuple[bytes, bytes]:
        order.append(write_applied(api))
        order.append(api.write(lambda shard: shard.add("a", 10)))
        return add_applied(shard, offset, now_ms)

    assert write_applied(api, outer) is True
    assert order == [False, [11]]


def test_nothing_happens_where_another_path_is_needed(bench: Callable[..., RuntimeBench]) -> None:
    assert write_applied(bench(), lambda *_: None) is False
    assert write_applied(bench(linger_ms=5)) is False
    api = bench()
    runner = api.runtime.runner(0)
    assert runner is not None
    api.runtime.resigned(0)
    assert runner.write_applied(add_applied) is False
