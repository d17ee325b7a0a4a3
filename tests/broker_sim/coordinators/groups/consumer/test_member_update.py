"""The records of a heartbeat, as a real 4.3.1 writes them."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.coordinators.runtime.load_settings import ALL_RECORDS
from broker_sim.coordinators.runtime.log_replay import LogReplay
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from broker_sim.topic_partition import TopicPartition


class RecordTypes:
    """Collects the types of records."""

    def __init__(self):
        self.found = []

    def replay(self, _offset, _producer_id, _producer_epoch, record):
        self.found.append(record.key.RECORD_TYPE * (-1 if record.value is None else 1))


def record_types(bench):
    """The types of the records of the group's partition, tombstones negative."""
    partition = bench.broker.replica_manager.partitions[TopicPartition("__consumer_offsets", 0)]
    reader = RecordTypes()
    replay = LogReplay(partition.log, Log.CONSUMER_OFFSETS, reader, SnapshotRegistry(), ALL_RECORDS)
    assert replay.advance()
    return reader.found


@pytest.mark.parametrize(
    ("release", "types"),
    [("4.3.1", [5, 3, 7, 6, 8]), ("4.1.1", [5, 3, 7, 6, 8]), ("4.0.0", [5, 4, 3, 7, 6, 8])],
)
def test_a_join_writes_the_member_the_epoch_the_target_and_the_assignment(consumers, release, types):
    bench = consumers(release=release)
    bench.join("m1", "a")
    assert record_types(bench) == types


def test_a_heartbeat_without_changes_writes_nothing(consumers):
    bench = consumers()
    bench.join("m1", "a")
    before = record_types(bench)
    bench.heartbeat("m1", 2)
    assert record_types(bench) == before


def test_a_member_without_topics_needs_no_epoch(consumers):
    bench = consumers()
    assert bench.join("m1", subscribed_topic_names=[]).member_epoch == 1
    assert record_types(bench) == [5, 8]
    bench.heartbeat("m1", -1)
    assert record_types(bench) == [5, 8, -8, -7, -5, 3]
