from __future__ import annotations

from broker_sim.config.java_hash import hash_order, hash_order_of_copy, hash_order_of_longs, string_hash


def test_hashes_are_those_of_java() -> None:
    assert [string_hash(text) for text in ("", "a", "hello", "polygenelubricants")] == [0, 97, 99162322, -(2**31)]


def test_characters_beyond_16_bits_count_as_two() -> None:
    assert string_hash("\U0001f600") == 31 * 0xD83D + 0xDE00


def test_order_is_by_bucket_and_stable() -> None:
    assert hash_order(["z", "y", "b", "a"]) == ["a", "b", "y", "z"]
    # q and a share a bucket of the smallest table.
    assert hash_order(["q", "a"]) == ["q", "a"]
    assert hash_order(["a", "q"]) == ["a", "q"]


def test_longs_fall_into_buckets_by_both_their_halves() -> None:
    assert hash_order_of_longs([17, 3, 16, (1 << 32) + 4]) == [16, 17, 3, (1 << 32) + 4]
    assert hash_order_of_longs([5, 2**63 - 1]) == [2**63 - 1, 5]


def test_a_copied_table_is_as_small_as_it_can_be() -> None:
    # a and i share a bucket of 8; a copy of five keeps 8 buckets when a sixth comes, a copy of six has 16.
    assert hash_order_of_copy(["i", "b", "c", "d", "e"], "a") == ["i", "a", "b", "c", "d", "e"]
    assert hash_order_of_copy(["i", "b", "c", "d", "e", "f"], "a") == ["a", "b", "c", "d", "e", "f", "i"]
