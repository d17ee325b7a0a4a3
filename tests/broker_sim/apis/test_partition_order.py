"""The order of partitions in responses: that of Java's and Scala's hash tables, as recorded from real brokers."""

from __future__ import annotations

from broker_sim.apis.partition_order import (
    grouped_by_topic,
    grouped_from_immutable,
    immutable_order,
    mutable_order,
    partition_hash,
    partition_hash_with_id,
)

FEW = [("b", 0), ("a", 1), ("a", 0)]
MANY = [("aa", 5), ("aa", 3), ("b", 2), ("ccc", 0), ("b", 1), ("x y", 0)]
# The order of a 4.3.1 broker's response to a DeleteRecords of these partitions, none of which exists.
REQUESTED = [("c2", 5), ("ccc2", 1), ("gg0", 5), ("g1", 1), ("e2", 0), ("c3", 4), ("f0", 3), ("cc1", 2), ("f0", 4)]


def test_hashes_are_those_of_the_jvm() -> None:
    assert partition_hash(("a", 0)) == 31 * 31 + 97
    assert partition_hash_with_id(("a", 0)) == 31 * 31 + 31 * 31 + 97
    assert partition_hash_with_id(("a", 0), bytes([0] * 15 + [1])) == 31 * 32 + 31 * 31 + 97


def test_a_mutable_map_lists_by_hash() -> None:
    assert mutable_order(FEW, partition_hash) == sorted(FEW, key=lambda key: partition_hash(key) % 16)
    assert mutable_order(MANY, partition_hash) == mutable_order(MANY[::-1], partition_hash)


def test_a_small_immutable_map_keeps_the_order_and_a_larger_one_does_not() -> None:
    assert immutable_order(FEW, partition_hash) == FEW
    assert immutable_order(MANY, partition_hash) == immutable_order(MANY[::-1], partition_hash) != MANY


def test_groups_hold_every_key_once() -> None:
    for grouped in (grouped_by_topic(REQUESTED), grouped_from_immutable(REQUESTED)):
        assert sorted(key for keys in grouped.values() for key in keys) == sorted(REQUESTED)
        assert all(name == topic for name, keys in grouped.items() for topic, _ in keys)


def test_partitions_of_a_group_of_a_large_map_are_a_trie_too() -> None:
    assert grouped_from_immutable(MANY)["aa"] == grouped_from_immutable(MANY[::-1])["aa"]
    assert grouped_from_immutable(FEW)["a"] == [("a", 1), ("a", 0)]
