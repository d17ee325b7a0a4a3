"""Log start offsets on three brokers: DeleteRecords, retention, and followers that adopt them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.delayed_delete_records import DeleteResult
    from tests.broker_sim.conftest import Replicas

    Make = Callable[..., Replicas]

HOUR_MS = 3_600_000
TIMESTAMP_MS = 1_767_225_600_000


def produce_keyed(replicas: Replicas, key: bytes) -> None:
    """Append one record to the leader, and let it be replicated."""
    builder = RecordBatchBuilder()
    builder.append(TIMESTAMP_MS, key, b"v")
    manager = replicas.cluster.broker(1).replica_manager
    manager.append_records(request_id=1, timeout_ms=1_000, required_acks=1, entries=[(replicas.topic, builder.build())])
    replicas.run(ms=10)


def delete(replicas: Replicas, offset: int, *, timeout_ms: int = 5_000, broker: int = 1) -> list[DeleteResult]:
    """Delete on a broker; the list is empty until the response has come."""
    results: list[DeleteResult] = []
    manager = replicas.cluster.broker(broker).replica_manager
    deleted = manager.delete_records({replicas.topic: offset}, timeout_ms=timeout_ms)
    if isinstance(deleted, Deferred):
        deleted.addCallback(lambda found: results.append(found[replicas.topic]))
    else:
        results.append(deleted[replicas.topic])
    return results


def starts(replicas: Replicas) -> list[int]:
    return [replicas.partition(broker).log.log_start_offset for broker in (1, 2, 3)]


def test_followers_adopt_the_leaders_start_within_a_fetch_and_the_response_waits_for_it(replicas: Make) -> None:
    cluster = replicas()
    for value in range(4):
        cluster.produce(value)
    cluster.run(ms=2_000)
    results = delete(cluster, 3)
    assert (results, starts(cluster)) == ([], [3, 0, 0])
    cluster.run(ms=1_100)
    assert [(result.error_code, result.low_watermark) for result in results] == [(ErrorCode.NONE, 3)]
    assert starts(cluster) == [3, 3, 3]


def test_an_append_brings_the_start_along(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2, 3)
    cluster.run(ms=2_000)
    results = delete(cluster, 2)
    cluster.produce(4)
    cluster.run(ms=20)
    assert results
    assert starts(cluster) == [2, 2, 2]


def test_a_follower_that_was_down_begins_with_the_batch_in_which_the_log_starts(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2)
    cluster.cluster.kill(3)
    cluster.run(ms=60_000)
    cluster.produce(3, 4, 5)
    delete(cluster, 3)
    cluster.run(ms=2_000)
    cluster.cluster.restart(3)
    cluster.settle()
    log = cluster.partition(3).log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (3, 5, 5)
    assert cluster.values(3) == [3, 4, 5]
    assert cluster.isr() == (1, 2, 3)


def test_a_held_follower_lets_the_deletion_time_out(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2, 3)
    cluster.run(ms=2_000)
    cluster.hold_fetches(3)
    results = delete(cluster, -1, timeout_ms=3_000)
    cluster.run(ms=2_990)
    assert not results
    cluster.run(ms=20)
    assert [(result.error_code, result.low_watermark) for result in results] == [(ErrorCode.REQUEST_TIMED_OUT, 0)]
    assert starts(cluster)[:2] == [3, 3]


def test_a_dead_follower_is_not_waited_for(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2, 3)
    cluster.cluster.kill(3)
    cluster.run(ms=30_000)
    results = delete(cluster, 2)
    cluster.run(ms=2_000)
    assert [result.error_code for result in results] == [ErrorCode.NONE]
    cluster.cluster.restart(3)
    cluster.settle()
    assert starts(cluster) == [2, 2, 2]


def test_a_lost_leadership_returns_not_leader(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2, 3)
    cluster.run(ms=2_000)
    cluster.hold_fetches(2, 3)
    results = delete(cluster, 2, timeout_ms=60_000)
    cluster.cluster.stop(1)
    cluster.run(ms=20_000)
    assert all(result.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER for result in results)


def test_only_the_leader_deletes(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2, 3)
    cluster.run(ms=2_000)
    assert [result.error_code for result in delete(cluster, 1, broker=2)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert starts(cluster) == [0, 0, 0]


def test_a_follower_that_comes_back_empty_handed_starts_where_the_leader_does(replicas: Make) -> None:
    cluster = replicas(topic_config={"segment.ms": "1", "retention.ms": str(HOUR_MS)})
    cluster.produce(1)
    cluster.cluster.kill(3)
    cluster.run(ms=20_000)
    for value in range(4):
        cluster.produce(value)
    results = delete(cluster, 4)
    cluster.run(ms=2_000)
    assert results
    cluster.cluster.restart(3)
    cluster.settle()
    assert starts(cluster) == [4, 4, 4]


def test_retention_empties_every_replica_and_offsets_go_on(replicas: Make) -> None:
    cluster = replicas(topic_config={"retention.ms": str(HOUR_MS)})
    cluster.produce(1, 2, 3)
    cluster.run(ms=HOUR_MS + 6 * 60_000)
    assert starts(cluster) == [3, 3, 3]
    assert [cluster.values(broker) for broker in (1, 2, 3)] == [[], [], []]
    assert cluster.produce(4).base_offset == 3
    cluster.settle()
    assert [cluster.values(broker) for broker in (1, 2, 3)] == [[4], [4], [4]]


def test_replicas_compact_alike_and_a_late_follower_copies_the_gaps(replicas: Make) -> None:
    cluster = replicas(
        topic_config={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "100"},
        release="3.7.2",
    )
    cluster.cluster.kill(3)
    cluster.run(ms=20_000)
    for _ in range(10):
        produce_keyed(cluster, b"k")
    cluster.run(ms=60_000)
    cluster.cluster.restart(3)
    cluster.settle()
    logs = [cluster.partition(broker).log for broker in (1, 2, 3)]
    left = [[record.offset for batch in log.batches() for record in read_records(batch.data)] for log in logs]
    assert left == [[8, 9]] * 3
    assert [log.log_end_offset for log in logs] == [10, 10, 10]
