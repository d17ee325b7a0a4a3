"""Produce, as raw probes see it: producer ids, epochs and sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.compression import CompressionCodec
from tests.differential.case import case
from tests.differential.requests import idempotent, produce, produce_all, read_back, record, sealed, timed

if TYPE_CHECKING:
    from tests.differential.probe import Probe

LAST = 2_147_483_647


def send(probe: Probe, topic: str, records: bytes, note: str = "", version: int = 9) -> None:
    """Produce and record the response."""
    probe.exchange(produce(topic, records), version, note=note)


@case()
def in_order(probe: Probe) -> None:
    topic = probe.topic()
    for sequence in range(4):
        send(probe, topic, idempotent(5_000, 0, sequence))
    read_back(probe, topic)


@case()
def first_sequences(probe: Probe) -> None:
    topic = probe.topic()
    for number, sequence in enumerate((0, 1, 7, LAST)):
        send(probe, topic, idempotent(5_010 + number, 0, sequence), str(sequence))
    for number, epoch in enumerate((0, 1, 32_767)):
        send(probe, topic, idempotent(5_020 + number, epoch, 0), f"epoch {epoch}")
        send(probe, topic, idempotent(5_030 + number, epoch, 3), f"epoch {epoch}, sequence 3")


@case()
def gaps(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, idempotent(5_100, 0, 0, b"a", b"b"))
    for sequence in (3, 1, 100, LAST):
        for version in (3, 7, 8, 9):
            send(probe, topic, idempotent(5_100, 0, sequence), str(sequence), version)
    send(probe, topic, idempotent(5_100, 0, 2), "the right one")
    read_back(probe, topic)


@case()
def duplicates_of_the_last_five(probe: Probe) -> None:
    topic = probe.topic()
    sent = [idempotent(5_200, 0, sequence * 2, b"%d" % sequence, b"x") for sequence in range(7)]
    for records in sent:
        send(probe, topic, records)
    for number, records in enumerate(sent):
        send(probe, topic, records, f"again {number}")
    for version in (3, 5, 8):
        send(probe, topic, sent[-1], f"again, v{version}", version)
    send(probe, topic, idempotent(5_200, 0, 14), "the next")
    read_back(probe, topic)


@case()
def duplicates_in_part(probe: Probe) -> None:
    topic = probe.topic()
    for sequence in (0, 3, 6):
        send(probe, topic, idempotent(5_300, 0, sequence, b"a", b"b", b"c"))
    send(probe, topic, idempotent(5_300, 0, 6, b"a"), "the first of three")
    send(probe, topic, idempotent(5_300, 0, 7, b"b", b"c"), "the last two")
    send(probe, topic, idempotent(5_300, 0, 6, b"a", b"b", b"c", b"d"), "one more")
    send(probe, topic, idempotent(5_300, 0, 3, b"a", b"b", b"c", b"a", b"b", b"c"), "two batches in one")
    send(probe, topic, idempotent(5_300, 0, 6, b"x", b"y", b"z"), "the same numbers, other values")
    read_back(probe, topic)


@case()
def a_duplicate_when_a_larger_number_follows(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, idempotent(5_350, 0, 0))
    send(probe, topic, idempotent(5_350, 0, 0), "again at once")
    send(probe, topic, idempotent(5_350, 0, 0), "again")
    send(probe, topic, idempotent(5_350, 0, 1), "the next")


@case()
def duplicates_of_other_times(probe: Probe) -> None:
    topic = probe.topic()
    append = probe.topic("append", message_timestamp_type="LogAppendTime")
    for name in (topic, append):
        for _ in range(2):
            send(probe, name, idempotent(5_400, 0, 0, time_ms=1_600_000_000_000))


@case()
def epochs(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, idempotent(5_500, 1, 0))
    send(probe, topic, idempotent(5_500, 0, 1), "older epoch")
    send(probe, topic, idempotent(5_500, 0, 0), "older epoch, sequence 0")
    send(probe, topic, idempotent(5_500, 2, 1), "newer epoch, sequence 1")
    send(probe, topic, idempotent(5_500, 2, 0), "newer epoch, sequence 0")
    send(probe, topic, idempotent(5_500, 1, 1), "the epoch before")
    send(probe, topic, idempotent(5_500, 2, 0), "a duplicate")
    send(probe, topic, idempotent(5_500, 32_767, 0), "the last epoch")
    send(probe, topic, idempotent(5_500, 0, 0), "epoch 0 after the last")
    for version in (3, 7, 8):
        send(probe, topic, idempotent(5_500, 3, 0), f"older epoch, v{version}", version)
    read_back(probe, topic)


@case()
def sequences_wrap(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, idempotent(5_600, 0, LAST - 1, b"a", b"b"), "up to the last")
    send(probe, topic, idempotent(5_600, 0, 1), "1 follows")
    send(probe, topic, idempotent(5_600, 0, 0, b"c"), "0 follows")
    send(probe, topic, idempotent(5_600, 0, LAST - 1, b"a", b"b"), "a duplicate")
    send(probe, topic, idempotent(5_601, 0, LAST, b"a", b"b", b"c"), "across the end")
    send(probe, topic, idempotent(5_601, 0, 2), "2 follows")
    send(probe, topic, idempotent(5_601, 0, LAST, b"a", b"b", b"c"), "a duplicate across the end")
    read_back(probe, topic)


@case()
def numbers_that_are_negative(probe: Probe) -> None:
    topic = probe.topic()
    for number, (producer_id, epoch, sequence) in enumerate(
        ((5_700, -1, 0), (5_701, 0, -1), (5_702, -1, -1), (-1, 0, 0), (-2, 0, 0), (5_703, -2, 0), (5_704, 0, -2))
    ):
        send(probe, topic, idempotent(producer_id, epoch, sequence), f"{producer_id} {epoch} {sequence}")
        if number == 1:
            send(probe, topic, idempotent(producer_id, epoch, sequence), "again")
    send(probe, topic, idempotent(5_704, 0, 0), "then a right one")
    read_back(probe, topic)


@case()
def the_smallest_and_the_largest_id(probe: Probe) -> None:
    topic = probe.topic()
    for producer_id in (0, 9_223_372_036_854_775_807):
        for sequence in (0, 0, 1):
            send(probe, topic, idempotent(producer_id, 0, sequence))


@case()
def each_partition_counts_alone(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    entries = ((topic, 0, idempotent(5_800, 0, 0)), (topic, 1, idempotent(5_800, 0, 9)))
    probe.exchange(produce_all(*entries), 9)
    entries = ((topic, 0, idempotent(5_800, 0, 5)), (topic, 1, idempotent(5_800, 0, 10)))
    probe.exchange(produce_all(*entries), 9)


@case()
def many_producers_in_one_partition(probe: Probe) -> None:
    topic = probe.topic()
    for sequence in (0, 1):
        for producer_id in (5_900, 5_901, 5_902):
            send(probe, topic, idempotent(producer_id, 0, sequence))
    send(probe, topic, timed(1_600_000_000_000), "no producer")
    send(probe, topic, idempotent(5_901, 0, 1), "a duplicate")
    read_back(probe, topic)


@case()
def two_batches_of_a_producer(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, idempotent(5_950, 0, 0) + idempotent(5_950, 0, 1))
    send(probe, topic, idempotent(5_950, 0, 0))


@case()
def compressed(probe: Probe) -> None:
    topic = probe.topic()
    for sequence in (0, 2, 0, 5):
        send(probe, topic, idempotent(5_960, 0, sequence, b"a", b"b", codec=CompressionCodec.GZIP), str(sequence))
    read_back(probe, topic)


@case()
def acks_1(probe: Probe) -> None:
    topic = probe.topic()
    for sequence in (0, 1, 1, 5):
        probe.exchange(produce(topic, idempotent(5_970, 0, sequence), acks=1), 9, note=str(sequence))


@case()
def a_count_that_differs_from_the_last_delta(probe: Probe) -> None:
    topic = probe.topic()
    fields = {"producer_id": 5_980, "producer_epoch": 0, "base_sequence": 0}
    send(probe, topic, sealed(record(0) + record(1), count=2, last_offset_delta=4, **fields), "too many")
    send(probe, topic, sealed(record(0) + record(1), count=2, last_offset_delta=1, **fields), "right")
    send(probe, topic, idempotent(5_980, 0, 2), "the next")


@case()
def a_wrong_sequence_in_a_batch_that_is_wrong_anyway(probe: Probe) -> None:
    """Which error wins."""
    topic = probe.topic(cleanup_policy="compact", max_message_bytes="400")
    send(probe, topic, idempotent(5_990, 0, 0))
    send(probe, topic, idempotent(5_990, 0, 9, b"x" * 500), "too large")
    send(probe, topic, idempotent(5_990, 0, 9, key=None), "no key")
    send(probe, topic, idempotent(5_990, 0, 0, key=None), "a duplicate without a key")
    send(probe, topic, idempotent(5_990, 0, 9, base_offset=5), "a base offset")
    send(probe, topic, idempotent(5_990, 0, 9, time_ms=4_000_000_000_000), "far ahead")
