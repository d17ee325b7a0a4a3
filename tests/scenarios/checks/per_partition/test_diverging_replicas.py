from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker_scenarios.checks.per_partition.diverging_replicas import diverging_replicas
from tests.scenarios.small_cluster import ORDERS, Log, SmallCluster, batch

BATCHES = (batch(0, 1, 2), batch(2, 3), batch(3, 4))


def found(*logs: Log | None, isr: tuple[int, ...] = (0, 1, 2)) -> list[tuple[str, int]]:
    """The brokers and the offsets at which they differ from the first log, the leader's."""
    cluster: Any = SmallCluster(*logs)
    cluster.registrations[ORDERS] = replace(cluster.registrations[ORDERS], replicas=tuple(range(len(logs))), isr=isr)
    return [
        (each.detail.partition(" holds")[0], each.offset)
        for each in diverging_replicas(cluster, 0, cluster.log_of(0, *ORDERS))
    ]


def same() -> Log:
    return Log(*BATCHES)


def test_equal_batches_and_the_same_ones_do_not_differ() -> None:
    copies = (replace(each, data=bytes(bytearray(each.data))) for each in BATCHES)
    assert found(same(), same(), Log(*copies)) == []


def test_each_replica_that_differs_is_named_with_the_first_offset() -> None:
    other = Log(BATCHES[0], batch(2, 9), batch(3, 8))
    assert found(same(), other, same()) == [("broker 1", 2)]
    assert found(same(), other, Log(batch(0, 9, 9), *BATCHES[1:])) == [("broker 1", 2), ("broker 2", 0)]
    assert found(same(), None, same()) == []


@pytest.mark.parametrize(
    ("other", "offset"),
    [
        (Log(*BATCHES[:2]), 3),
        (Log(), 0),
        (Log(*BATCHES[:2], high_watermark=0), 3),
        (Log(batch(0, 1), batch(1, 2), *BATCHES[1:]), 0),
        (Log(BATCHES[0], batch(3, 4)), 2),
        (Log(*BATCHES, batch(4, 5)), None),  # above the high watermark
    ],
)
def test_a_member_of_the_isr_is_compared_up_to_the_high_watermark(other: Log, offset: int | None) -> None:
    assert found(same(), other, same()) == ([] if offset is None else [("broker 1", offset)])


@pytest.mark.parametrize(("high_watermark", "offset"), [(0, None), (3, None), (4, 3), (9, 3)])
def test_another_replica_is_compared_up_to_its_own_high_watermark(high_watermark: int, offset: int | None) -> None:
    other = Log(*BATCHES[:2], high_watermark=high_watermark)
    assert found(same(), other, same(), isr=(0, 2)) == ([] if offset is None else [("broker 1", offset)])


def test_nothing_above_the_high_watermark_of_the_leader_is_compared() -> None:
    leader = Log(*BATCHES, high_watermark=3)
    assert found(leader, Log(*BATCHES[:2], batch(3, 9), high_watermark=9), same()) == []
    assert found(leader, Log(*BATCHES[:1], batch(2, 9)), same()) == [("broker 1", 2)]


def test_a_batch_that_the_leader_lacks_differs() -> None:
    leader = Log(*BATCHES[:2], high_watermark=4)
    assert found(leader, same()) == [("broker 1", 3)]
    assert found(leader, Log(*BATCHES[:2], batch(4, 5))) == []


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize(
    ("part", "offset"),
    [({"start": 2}, None), ({"start": 1}, 1), ({"dirty": 2}, None), ({"dirty": 1}, 1), ({"dirty": 0}, 0)],
)
def test_what_retention_and_compaction_may_have_touched_is_not_compared(
    leads: bool, part: dict[str, int], offset: int | None
) -> None:
    ours = Log(*BATCHES, **(part if leads else {}))
    theirs = Log(batch(0, 9, 9), *BATCHES[1:], **({} if leads else part))
    assert found(ours, theirs) == ([] if offset is None else [("broker 1", offset)])


def test_a_batch_that_begins_before_the_comparison_differs_from_its_begin_on() -> None:
    assert found(same(), Log(*BATCHES[1:], start=1)) == [("broker 1", 1)]
    assert found(Log(*BATCHES[1:], start=1), same()) == [("broker 1", 1)]
