"""Compaction of logs of magic 0 and 1."""

from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.compaction import clean, log_to_clean
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_set import read_any

NOW_MS = 1_767_225_600_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

Pair = tuple[bytes, bytes | None]


def compacted_log(release: str, segment_bytes: int = 10_000) -> ReplicaLog:
    """A log whose segments are written to for an hour."""
    broker = BrokerConfig.parse({}, release=release)
    overrides = {"cleanup.policy": "compact", "segment.ms": str(HOUR_MS), "segment.bytes": str(segment_bytes)}
    config = TopicConfig.resolve(overrides, broker)
    return ReplicaLog(topic="t", partition=0, config=config, broker_config=broker, now_ms=NOW_MS)


def append(log: ReplicaLog, at_ms: int, codec: CompressionCodec, *pairs: Pair) -> None:
    builder = MessageSetBuilder(magic=log.config.magic, codec=codec)
    for key, value in pairs:
        builder.append(at_ms if log.config.magic else -1, key, value)
    log.append_as_leader(builder.build(), leader_epoch=0, now_ms=at_ms)
    log.update_high_watermark(log.log_end_offset)


def reported(log: ReplicaLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(each.offset, each.key, each.value) for batch in log.batches() for each in read_any(batch.data)]


@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
@pytest.mark.parametrize("release", ["0.8.2", "0.9", "0.10.0", "0.10.2"])
def test_the_last_message_of_each_key_stays_at_its_offset(release: str, codec: CompressionCodec) -> None:
    log = compacted_log(release)
    append(log, NOW_MS, codec, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    append(log, NOW_MS, codec, (b"c", b"1"))
    append(log, NOW_MS + 2 * HOUR_MS, codec, (b"c", b"2"), (b"d", b"1"))
    append(log, NOW_MS + 4 * HOUR_MS, codec, (b"a", b"9"))
    clean(log_to_clean(log, NOW_MS + 5 * HOUR_MS), NOW_MS + 5 * HOUR_MS)
    # The active segment is not looked at.
    assert reported(log) == [(1, b"b", b"1"), (2, b"a", b"2"), (4, b"c", b"2"), (5, b"d", b"1"), (6, b"a", b"9")]
    assert [offset for offset, _, _ in reported(log)] == sorted(offset for offset, _, _ in reported(log))
    assert {batch.data[16] for batch in log.batches()} == {log.config.magic}


@pytest.mark.parametrize("release", ["0.9", "0.10.0"])
def test_tombstones_go_when_their_segment_is_old_enough(release: str) -> None:
    # So small that no two segments become one: that would make the older one as young as the younger (until KIP-534).
    log = compacted_log(release, segment_bytes=80)
    append(log, NOW_MS, CompressionCodec.NONE, (b"a", b"1"), (b"a", None))
    append(log, NOW_MS + 2 * HOUR_MS, CompressionCodec.NONE, (b"b", b"1"))
    append(log, NOW_MS + 4 * HOUR_MS, CompressionCodec.NONE, (b"c", b"1"))
    clean(log_to_clean(log, NOW_MS + 4 * HOUR_MS), NOW_MS + 4 * HOUR_MS)
    assert (1, b"a", None) in reported(log)
    for days in (2, 3, 4):
        append(log, NOW_MS + days * DAY_MS, CompressionCodec.NONE, (b"d%d" % days, bytes(40)))
        clean(log_to_clean(log, NOW_MS + days * DAY_MS), NOW_MS + days * DAY_MS)
    assert (1, b"a", None) not in reported(log)
    assert (2, b"b", b"1") in reported(log)
