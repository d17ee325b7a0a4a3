"""Logs that clusters of the ZooKeeper era and quorums of controllers leave, read by DumpLogSegments of 3.7.2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_batch import RecordBatchBuilder
from sim_runtime.real_disk import RealDisk
from sim_runtime.world import World
from tests.interop.test_log_files import dump

if TYPE_CHECKING:
    from pathlib import Path

READER = "3.7.2"
RECORDS = 200
TIMESTAMP_MS = 1_767_225_600_000
CONFIG = {"segment.bytes": "2048", "index.interval.bytes": "256"}


def record_set(magic: int, value: int, *, compressed: bool) -> bytes:
    builder: RecordBatchBuilder | MessageSetBuilder
    codec = CompressionCodec.GZIP if compressed else CompressionCodec.NONE
    builder = RecordBatchBuilder(codec=codec) if magic == 2 else MessageSetBuilder(magic=magic, codec=codec)
    for each in range(value, value + 2):
        builder.append(TIMESTAMP_MS + each, None, b"%08d" % each)
    return builder.build()


def cluster_on(folder: Path, release: str, *, controllers: int = 1, seed: int = 1) -> tuple[World, Cluster]:
    world = World(seed)
    cluster = Cluster(
        reactor=world.reactor,
        streams=world.streams,
        brokers=1,
        controllers=controllers,
        release=release,
        topics=[TopicSpec(name="orders", configs=CONFIG if controllers == 1 else {})],
        data_dir=str(folder),
        disk=RealDisk(),
        listen=False,
    )
    cluster.start()
    world.run_for(ms=100)
    return world, cluster


@pytest.mark.parametrize("release", ["0.8.2", "0.9.0", "0.10.0", "0.10.2", "1.1", "2.3", "2.8", "3.2"])
def test_segments_and_indexes_of_every_age_are_dumped(release: str, tmp_path: Path) -> None:
    for start in range(2):
        world, cluster = cluster_on(tmp_path, release, seed=start)
        magic = cluster.config.behaviour.newest_magic
        for value in range(start * RECORDS // 2, (start + 1) * RECORDS // 2, 2):
            records = record_set(magic, value, compressed=value % 10 == 0)
            appended = cluster.broker(1).replica_manager.append_records(
                request_id=1, timeout_ms=100, required_acks=1, entries=[(TopicPartition("orders", 0), records)]
            )
            assert [each.error_code for each in appended] == [0]  # type: ignore[union-attr]
        world.run_until(cluster.close())
    logs = sorted((tmp_path / "broker-1" / "orders-0").glob("*.log"))
    assert len(logs) > 2
    text = dump(READER, "--deep-iteration", "--print-data-log", "--files", ",".join(map(str, logs)))
    assert "isvalid: false" not in text
    assert re.findall(r"payload: (\d{8})", text) == [f"{each:08d}" for each in range(RECORDS)]
    assert set(re.findall(r"magic: (\d)", text)) == {str(magic)}
    suffixes = [".index", ".timeindex"] if cluster.config.behaviour.segments_have_time_indexes else [".index"]
    for suffix in suffixes:
        indexes = [str(each) for each in sorted(logs[0].parent.glob(f"*{suffix}")) if each.stat().st_size]
        assert len(indexes) > 1
        text = dump(READER, "--index-sanity-check", "--files", ",".join(indexes))
        assert text.count("passed sanity check") == len(indexes)
        text = dump(READER, "--verify-index-only", "--files", ",".join(indexes))
        assert "mismatch" not in text
        assert "out of order" not in text


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_the_log_of_each_controller_is_dumped_after_a_change_of_leader(release: str, tmp_path: Path) -> None:
    for start in range(2):
        world, cluster = cluster_on(tmp_path, release, controllers=3, seed=start)
        cluster.kill_controller()
        world.run_for(ms=20_000)
        world.run_until(cluster.create_topic(TopicSpec(name=f"made-{start}")))
        world.run_until(cluster.close())
    # The node that was killed last does not know the last topic.
    for node, names in ((3000, {"orders", "made-0"}), (3001, {"orders", "made-0", "made-1"})):
        file = tmp_path / f"controller-{node}" / "__cluster_metadata-0" / "00000000000000000000.log"
        text = dump(release, "--cluster-metadata-decoder", "--files", str(file))
        assert "isvalid: false" not in text
        assert set(re.findall(r'"type":"TOPIC_RECORD","version":0,"data":\{"name":"([^"]+)"', text)) == names
        assert text.count("isControl: true") > 1
