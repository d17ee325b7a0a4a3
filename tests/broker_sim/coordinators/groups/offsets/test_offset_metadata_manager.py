from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import OffsetRemoved
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import peek_header
from protocol_specs.records.record_set import read_any_record_set
from protocol_specs.schemas.coordinator.legacy_offset_commit import LegacyOffsetCommitKey
from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey
from tests.broker_sim.apis.test_txn_offset_commit import UNVERIFIED, commit_in_transaction
from tests.broker_sim.offset_requests import (
    GROUP,
    OFFSETS_TOPIC,
    commit,
    commit_request,
    delete,
    fetch,
    with_coordinator,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.coordinators.groups.group_shard import GroupShard

RETENTION = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "10000"}


def shard_of(api: Any, broker_id: int = 1) -> GroupShard:
    shard: GroupShard | None = api.cluster.brokers[broker_id].coordinators.groups.runtime.shard(0)
    assert shard is not None
    return shard


def offset_records(api: Any) -> list[CoordinatorRecord]:
    """Return the records of committed offsets in the log."""
    [log] = [
        partition.log
        for name, partition in api.cluster.brokers[1].replica_manager.partitions.items()
        if name.topic == OFFSETS_TOPIC
    ]
    records = [
        CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, bytes(record.key), record.value)
        for batch in log.batches()
        for record in read_any_record_set(batch.data)
        if record.key is not None
    ]
    return [record for record in records if isinstance(record.key, OffsetCommitKey | LegacyOffsetCommitKey)]


def end_transaction(api: Any, *, committed: bool) -> None:
    api.cluster.brokers[1].coordinators.groups.runtime.shard(0).replay_end_of_transaction(4, 0, committed=committed)


def test_each_commit_is_a_record_and_each_deletion_a_tombstone(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    commit(api, {("orders", 0): 1}, leader_epoch=2)
    delete(api, {"orders": [0, 1]})
    written, deleted = offset_records(api)
    assert written.version == 4
    assert (written.value.offset, written.value.leader_epoch) == (1, 2)  # type: ignore[union-attr]
    assert (deleted.key, deleted.value) == (written.key, None)


@pytest.mark.parametrize(
    ("release", "version"),
    [("0.8.2", 0), ("0.9", 1), ("0.10", 1), ("2.0", 1), ("2.1", 3), ("3.7.2", 3), ("4.0", 3), ("4.1", 4), ("4.3.1", 4)],
)
def test_records_have_the_version_of_the_release(bench: Callable[..., Any], release: str, version: int) -> None:
    api = with_coordinator(bench, release=release)
    commit(api, {("orders", 0): 1}, 1 if release == "0.8.2" else 2)
    assert [record.version for record in offset_records(api)] == [version]


def test_offsets_expire_when_their_retention_has_passed(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=RETENTION)
    commit(api, {("orders", 0): 1})
    api.reactor.run_for(ms=40_000)
    commit(api, {("orders", 1): 2})
    api.reactor.run_for(ms=30_000)
    assert [each[:3] for each in fetch(api, None)] == [("orders", 1, 2)]
    api.reactor.run_for(ms=40_000)
    assert fetch(api, None) == []
    removed = api.cluster.journal.events_of(OffsetRemoved)
    assert [(each.group_id, each.topic, each.partition, each.reason) for each in removed] == [
        (GROUP, "orders", 0, "expired"),
        (GROUP, "orders", 1, "expired"),
    ]
    assert shard_of(api).groups.all() == []


def test_the_retention_of_a_request_goes_before_that_of_the_broker(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=RETENTION)
    commit(api, {("orders", 0): 1}, 2, retention_time_ms=100_000)
    commit(api, {("orders", 1): 1}, 2, retention_time_ms=5_000)
    api.reactor.run_for(ms=80_000)
    assert [each[:2] for each in fetch(api, None)] == [("orders", 0)]
    api.reactor.run_for(ms=40_000)
    assert fetch(api, None) == []


def test_the_offsets_of_a_deleted_topic_are_deleted(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    commit(api, {("orders", 0): 1, ("payments", 0): 2})
    api.cluster.delete_topic("orders")
    api.reactor.run_for(ms=1_000)
    assert [each[:3] for each in fetch(api, None)] == [("payments", 0, 2)]
    assert offset_records(api)[-1].value is None


@pytest.mark.parametrize(("release", "left"), [("3.7.2", []), ("4.3.1", [GROUP])])
def test_the_old_coordinator_ends_empty_groups_with_a_deleted_topic(
    bench: Callable[..., Any], release: str, left: list[str]
) -> None:
    api = with_coordinator(bench, release=release)
    commit(api, {("orders", 0): 1})
    delete(api, {"payments": [0]})
    api.cluster.delete_topic("orders")
    api.reactor.run_for(ms=1_000)
    assert [group.group_id for group in shard_of(api).groups.all()] == left


def test_only_commits_of_the_old_coordinator_have_a_sequence(bench: Callable[..., Any]) -> None:
    for release, sequences in (("3.7.2", [0, -1]), ("4.3.1", [0, 0])):
        api = with_coordinator(bench, release=release)
        commit(api, {("orders", 0): 1})
        delete(api, {"orders": [0]})
        log = api.cluster.log_of(1, OFFSETS_TOPIC, 0)
        assert [peek_header(batch.data).base_sequence for batch in log.batches()] == sequences


def test_offsets_are_the_same_after_the_coordinator_has_moved(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, brokers=3, config={"offsets.topic.replication.factor": "3"})
    image = api.cluster.brokers[1].metadata_cache.image
    leader = image.topics[OFFSETS_TOPIC].partitions[0].leader
    request = commit_request({("orders", 0): 1})
    response = api.exchange(request, 8, broker_id=leader)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
    api.cluster.kill(leader)
    api.reactor.run_for(ms=30_000)
    [other] = {each for each in (1, 2, 3) if each != leader and _leads(api, each)}
    assert shard_of(api, other).groups.get(GROUP) is not None
    [[_, offset]] = shard_of(api, other).offsets.committed(GROUP)
    assert offset.offset == 1


def _leads(api: Any, broker_id: int) -> bool:
    return api.cluster.brokers[broker_id].coordinators.groups.runtime.shard(0) is not None


@pytest.mark.parametrize(("committed", "offset"), [(True, 5), (False, 1)])
def test_the_end_of_a_transaction_decides_on_its_offsets(
    bench: Callable[..., Any], *, committed: bool, offset: int
) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    commit(api, {("orders", 0): 1})
    commit_in_transaction(api)
    end_transaction(api, committed=committed)
    assert [each[2] for each in fetch(api, {"orders": [0]}, require_stable=True)] == [offset]


def test_the_later_record_counts_when_a_transaction_commits(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    commit_in_transaction(api)
    commit(api, {("orders", 0): 1})
    end_transaction(api, committed=True)
    assert [each[2] for each in fetch(api, {"orders": [0]})] == [1]


def test_a_tombstone_drops_pending_offsets(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    commit_in_transaction(api)
    delete(api, {"orders": [0]})
    end_transaction(api, committed=True)
    assert [each[2] for each in fetch(api, {"orders": [0]})] == [-1]


def test_pending_offsets_keep_a_group(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED | RETENTION)
    commit(api, {("orders", 0): 1})
    commit_in_transaction(api)
    api.reactor.run_for(ms=200_000)
    assert [each[2] for each in fetch(api, {"orders": [0]})] == [1]
    end_transaction(api, committed=False)
    api.reactor.run_for(ms=20_000)
    assert shard_of(api).groups.all() == []


def test_all_offsets_of_a_group_have_one_tombstone_each(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    commit(api, {("orders", 0): 1, ("orders", 1): 1})
    commit_in_transaction(api)
    records = shard_of(api).offsets.delete_all_offsets(GROUP)
    assert [(record.key.partition, record.value) for record in records] == [(0, None), (1, None)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("codec", "name"), [("1", "GZIP"), ("2", "SNAPPY"), ("0", "NONE")])
def test_the_codec_of_the_offsets_topic_compresses_its_batches(
    bench: Callable[..., Any], codec: str, name: str
) -> None:
    api = with_coordinator(bench, config={"offsets.topic.compression.codec": codec})
    commit(api, {("orders", 0): 1})
    [partition] = [
        each for key, each in api.cluster.brokers[1].replica_manager.partitions.items() if key[0] == OFFSETS_TOPIC
    ]
    assert [peek_header(batch.data).codec.name for batch in partition.log.batches()] == [name]
    assert [record.version for record in offset_records(api)] == [4]
