"""The orders are those of a real 3.7.2 broker, recorded in the cases of internal topics."""

from __future__ import annotations

from broker_sim.coordinators.groups.offsets.scala_order import kept_order, removed_order
from broker_sim.topic_partition import TopicPartition

FEW = [TopicPartition("t", index) for index in (3, 0, 2)]


def test_a_few_removed_offsets_keep_their_order() -> None:
    assert removed_order(FEW) == FEW


def test_many_removed_offsets_are_in_the_order_of_a_trie() -> None:
    many = [TopicPartition("t", index) for index in range(9)]
    assert [partition.partition for partition in removed_order(many)] != list(range(9))
    assert sorted(removed_order(many)) == many


def test_kept_offsets_are_in_the_order_of_their_hashes() -> None:
    assert kept_order(FEW) == kept_order(reversed(FEW)) == [FEW[0], FEW[2], FEW[1]]
