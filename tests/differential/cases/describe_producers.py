"""DescribeProducers, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.differential.case import case
from tests.differential.requests import FAR_FUTURE_MS, batch, fill, idempotent, produce, timed

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def describe(*topics: tuple[str, tuple[int, ...]]) -> DescribeProducersRequest:
    """A DescribeProducers of these partitions, a topic entry each."""
    return DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=list(p)) for name, p in topics])


@case()
def producers_of_a_partition(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    probe.exchange(describe((topic, (0, 1, 2))), 0, note="none")
    fill(probe, topic, batch(b"a"), idempotent(1_000, 0, 0, b"a", b"b", b"c"))
    probe.exchange(describe((topic, (0,))), 0, note="one")
    fill(probe, topic, idempotent(1_000, 0, 3), idempotent(1_001, 5, 7, time_ms=FAR_FUTURE_MS // 4))
    probe.exchange(describe((topic, (0, 1))), 0, note="two")
    fill(probe, topic, idempotent(1_000, 1, 0, time_ms=50))
    probe.exchange(describe((topic, (0,))), 0, note="a new epoch, an older time")
    refused = probe.quiet(produce(topic, idempotent(1_000, 1, 9)), 9)
    assert not isinstance(refused, str)
    probe.exchange(describe((topic, (0,))), 0, note="after a gap that was refused")
    fill(probe, topic, idempotent(1_000, 1, 0, time_ms=50))
    probe.exchange(describe((topic, (0,))), 0, note="after a duplicate")


@case()
def the_order_of_producers(probe: Probe) -> None:
    topic = probe.topic()
    ids = [5, 3, 100, 16, 17, 33, 1 << 20, (1 << 32) + 4, (1 << 40) + 9, 2**63 - 1, 0, 1_000, 64, 48, 12]
    for number, producer_id in enumerate(ids):
        fill(probe, topic, idempotent(producer_id, 0, number))
        probe.exchange(describe((topic, (0,))), 0, note=f"{number + 1}")


@case()
def times(probe: Probe) -> None:
    topic = probe.topic()
    for number, time_ms in enumerate((-1, 0, 5)):
        fill(probe, topic, idempotent(2_000 + number, number, number, time_ms=time_ms))
    fill(probe, topic, timed(5))
    probe.exchange(describe((topic, (0,))), 0)
    stamped = probe.topic("append-time", message_timestamp_type="LogAppendTime")
    fill(probe, stamped, idempotent(2_003, 0, 2_147_483_647))
    probe.exchange(describe((stamped, (0,))), 0, note="LogAppendTime, the last sequence")
    fill(probe, stamped, idempotent(2_003, 0, 0))
    probe.exchange(describe((stamped, (0,))), 0, note="the sequence starts again")
    fill(probe, stamped, idempotent(2_004, 0, 2_147_483_646, b"a", b"b", b"c"))
    probe.exchange(describe((stamped, (0,))), 0, note="a batch that wraps")
    fill(probe, stamped, idempotent(2_005, 32_767, 5))
    probe.exchange(describe((stamped, (0,))), 0, note="the last epoch")


@case()
def partitions_that_are_not_there(probe: Probe) -> None:
    topic = probe.topic()
    for partition in (1, -1, -2_147_483_648, 2_147_483_647):
        probe.exchange(describe((topic, (partition,))), 0, note=str(partition))
    probe.exchange(describe((topic, (0, 9, 0))), 0, note="0, 9, 0")
    probe.exchange(describe((topic, ())), 0, note="no partition")
    probe.exchange(describe((f"{probe.name}-none", (0, -1))), 0, note="no topic")
    probe.exchange(describe((f"{probe.name}-none", ())), 0, note="no topic, no partition")


@case()
def names(probe: Probe) -> None:
    for name in ("", " ", ".", "..", "a b", "a/b", "é", "x" * 249, "x" * 250, "__cluster_metadata", "a\0b"):
        probe.exchange(describe((name, (0, 1))), 0, note=name[:20])
        probe.exchange(describe((name, ())), 0, note=f"{name[:20]}, no partition")


@case()
def repetitions(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    fill(probe, topic, idempotent(3_000, 0, 0))
    probe.exchange(describe(), 0, note="no topic")
    probe.exchange(describe((topic, (0, 0)), (topic, (1, 0)), (f"{probe.name}-none", (0,)), (topic, (0,))), 0)
    probe.exchange(describe((topic, (1, 0))), 0, note="in this order")


@case()
def malformed(probe: Probe) -> None:
    for body, note in (
        (b"", "nothing"),
        (b"\0\0", "null topics"),
        (b"\1\0", "no topics"),
        (b"\1", "no tags"),
        (b"\2\0\1\0\0", "null name"),
        (b"\2\2t\0\0\0", "null partitions"),
        (b"\2\2t\2\0\0\0\0\0", "one tag section is missing"),
        (b"\2\2t\2\0\0\0\0\0\0\0", "bytes after"),
        (b"\xff\xff\xff\xff\x0f", "many topics"),
    ):
        probe.raw_body(61, 0, body, note=note)
    probe.raw_body(61, 1, b"\1\0", note="version 1", seconds=2)
    probe.raw_body(61, -1, b"\1\0", note="version -1", seconds=2)
