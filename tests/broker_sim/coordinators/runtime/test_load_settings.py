from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.coordinators.runtime.load_settings import BadRecords, LoadSettings
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.batch_builder import RecordBatchBuilder
from tests.broker_sim.coordinators.runtime.counting_shard import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.runtime.conftest import RuntimeBench

PARTITION = TopicPartition("__consumer_offsets", 0)
BAD = {"a short key": (b"k", b"v"), "no key": (None, b"v"), "a short value": (record("b", 1).encode()[0], b"\0\3")}
EXPECTED = {
    BadRecords.FAIL_THE_SHARD: None,
    BadRecords.KEEP_WHAT_IS_BEFORE: [("a", 1)],
    BadRecords.DISCARD_EVERYTHING: [],
}


def _reload(api: RuntimeBench, settings: LoadSettings, *records: tuple[bytes | None, bytes | None]) -> None:
    """Append records to the log, and let the shard load it again."""
    api.runtime._load_settings = settings
    broker = api.cluster.brokers[api.leader]
    for key, value in records:
        builder = RecordBatchBuilder()
        builder.append(0, key, value, ())
        broker.replica_manager.append_as_coordinator(PARTITION, builder.build(), required_acks=1)
    api.runtime.resigned(0)
    api.runtime.elected(0, 1)
    api.settle()


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("policy", BadRecords)
def test_a_bad_record_has_the_effect_of_the_policy(
    bench: Callable[..., RuntimeBench], policy: BadRecords, bad: tuple[bytes | None, bytes]
) -> None:
    api = bench()
    api.write(lambda shard: shard.add("a"))
    _reload(api, LoadSettings(bad_records=policy), bad, record("c", 3).encode())
    shard = api.runtime.shard(0)
    assert (None if shard is None else list(shard.counts.items())) == EXPECTED[policy]


def test_records_of_other_types_are_passed_over(bench: Callable[..., RuntimeBench]) -> None:
    api = bench()
    api.write(lambda shard: shard.add("a"))
    other = (b"\0\3 no key of a consumer group", b"v")
    _reload(api, LoadSettings(record_types=frozenset({1})), other, record("c", 3).encode())
    assert list(api.shard.counts.items()) == [("a", 1), ("c", 3)]
