from __future__ import annotations

from protocol_specs.java_hash import (
    SMALLEST_TRIE,
    ConcurrentKeys,
    IntegerSet,
    computed_order,
    concurrent_hash_order,
    concurrent_order,
    fields_hash,
    hash_bucket,
    hash_order,
    hash_order_by,
    hash_order_of_changed,
    hash_order_of_changed_map,
    hash_order_of_computed,
    hash_order_of_copy,
    hash_order_of_longs,
    hash_order_of_merged,
    hash_order_of_set,
    hash_set_order,
    immutable_set_order,
    list_hash,
    long_hash,
    string_hash,
    timeline_order,
    topic_partition_hash,
)


def test_hashes_are_those_of_java() -> None:
    assert [string_hash(text) for text in ("", "a", "hello", "polygenelubricants")] == [0, 97, 99162322, -(2**31)]


def test_a_partition_has_the_hash_of_java() -> None:
    assert [topic_partition_hash("t", partition) for partition in (0, 1)] == [1077, 1108]
    assert topic_partition_hash("polygenelubricants", 0) == 2**31 + 31 * 31
    assert topic_partition_hash("polygenelubricants", 2**31 // 31) < 2**32


def test_a_map_made_for_more_keys_has_more_buckets() -> None:
    assert hash_order_by([16, 1], int) == [16, 1]
    assert hash_order_by([16, 1], int, capacity=17) == [1, 16]
    # Four buckets hold three keys, so a map made for fewer of them ends with four.
    assert hash_order_by([5, 4, 3], int, capacity=1) == [4, 5, 3]


def test_characters_beyond_16_bits_count_as_two() -> None:
    assert string_hash("\U0001f600") == 31 * 0xD83D + 0xDE00


def test_order_is_by_bucket_and_stable() -> None:
    assert hash_order(["z", "y", "b", "a"]) == ["a", "b", "y", "z"]
    # q and a share a bucket of the smallest table.
    assert hash_order(["q", "a"]) == ["q", "a"]
    assert hash_order(["a", "q"]) == ["a", "q"]


def test_a_bucket_depends_on_both_halves_of_a_hash_signed_or_not() -> None:
    assert [hash_bucket(value, 16) for value in (3, 16, 0x30000, 0x70005)] == [3, 0, 3, 2]
    assert hash_bucket(-1, 16) == hash_bucket((1 << 32) - 1, 16) == 0


def test_longs_fall_into_buckets_by_both_their_halves() -> None:
    assert hash_order_of_longs([17, 3, 16, (1 << 32) + 4]) == [16, 17, 3, (1 << 32) + 4]
    assert hash_order_of_longs([5, 2**63 - 1]) == [2**63 - 1, 5]


def test_a_copied_table_is_as_small_as_it_can_be() -> None:
    # a and i share a bucket of 8; a copy of five keeps 8 buckets when a sixth comes, a copy of six has 16.
    assert hash_order_of_copy(["i", "b", "c", "d", "e"], "a") == ["i", "a", "b", "c", "d", "e"]
    assert hash_order_of_copy(["i", "b", "c", "d", "e", "f"], "a") == ["a", "b", "c", "d", "e", "f", "i"]


def test_a_copied_map_grows_with_the_keys_that_are_put() -> None:
    # The table of a copy of one key has two buckets, and four with three keys: i and y are in 1, b is in 2.
    assert hash_order_of_changed(["i"], {"b": True, "y": True}) == ["i", "y", "b"]
    assert hash_order_of_changed(["i"], {"y": True, "i": False}) == ["y"]
    assert hash_order_of_changed([], {"y": True, "b": True}) == ["b", "y"]


def test_properties_grow_with_their_twelfth_key_as_a_real_broker_names_the_first_of_them() -> None:
    # Buckets of 16 and of 32: flush 4 and 20, foo 7 and 7.
    others = [f"x{number}" for number in range(9)]
    for some, expected in (([], ["flush", "foo"]), (["y"], ["foo", "flush"])):
        listed = concurrent_hash_order([*others, *some, "flush", "foo"], string_hash)
        assert [each for each in listed if each[0] == "f"] == expected


def test_a_concurrent_map_that_gets_all_keys_of_another_makes_room_for_more() -> None:
    # Buckets of 16, 32 and 64: 1 and 17 share the first.
    for larger, expected in ((2, [17, 1]), (6, [1, 17])):
        keys = ConcurrentKeys(long_hash)
        keys.put(17)
        keys.put_all([1, *range(2, larger + 1)])
        assert [each for each in keys if each in (1, 17)] == expected


def test_a_computed_key_comes_first_in_its_bucket() -> None:
    # uniform and range share a bucket of 2 and of 4. The orders are those that HashMap.compute makes on JDK 17.
    assert hash_order_of_computed(["uniform"], "range") == ["range", "uniform"]
    assert hash_order_of_computed(["range"], "uniform") == ["uniform", "range"]
    assert hash_order_of_computed(["uniform", "range"], "uniform") == ["uniform", "range"]
    assert hash_order_of_computed(["uniform", "range"], "range") == ["range", "uniform"]
    assert hash_order_of_computed(["uniform", "range"], None) == ["uniform", "range"]
    assert hash_order_of_computed([], "range") == ["range"]


def test_what_is_computed_last_comes_first_in_its_bucket() -> None:
    assert computed_order(["first", "other", "last"], {"first": 1, "other": 0, "last": 17}.__getitem__) == [
        "other",
        "last",
        "first",
    ]


def _listed(names: list[str], order: list[int]) -> list[str]:
    return [names[place] for place in order]


def test_a_small_immutable_set_lists_as_it_was_filled() -> None:
    assert immutable_set_order(map(string_hash, ["d", "c", "b", "a"])) == [0, 1, 2, 3]


def test_a_larger_immutable_set_lists_as_real_brokers_list_topics() -> None:
    # The order of these names in Metadata responses of 3.7.2 and 4.3.1.
    names = [f"p-u{number}" for number in range(7)]
    assert [name[-1] for name in _listed(names, immutable_set_order(map(string_hash, names)))] == list("0634152")


def test_what_is_left_of_a_large_set_stays_a_trie() -> None:
    names = ["p-u1", "p-u0"]
    assert _listed(names, immutable_set_order(map(string_hash, names), was=SMALLEST_TRIE)) == ["p-u0", "p-u1"]


def test_a_hash_set_lists_as_a_real_broker_lists_partitions() -> None:
    # Metadata of 3.7.2 for a topic of five partitions, each on broker 1: error, index, leader, epoch and three lists.
    of_one = list_hash([1])
    hashes = [fields_hash(0, index, 1, 0, of_one, of_one, list_hash([])) for index in range(5)]
    assert hash_set_order(hashes) == [1, 3, 2, 0, 4]


def test_a_hash_set_is_by_hash_when_everything_fits_the_smallest_table() -> None:
    assert hash_set_order([3, 1, 17, 2]) == [1, 2, 3, 0]


def test_a_timeline_map_lists_as_a_real_controller_elects() -> None:
    # ElectLeaders for all partitions, as 3.7.2 and 4.3.1 return it.
    assert timeline_order(range(3)) == [2, 0, 1]
    names = ["pa", "pdef", "p.a_b", "auto1", "small", "comp", "__consumer_offsets", "__transaction_state"]
    assert _listed(names, timeline_order(map(string_hash, names))) == [
        "comp",
        "auto1",
        "__consumer_offsets",
        "small",
        "p.a_b",
        "pdef",
        "__transaction_state",
        "pa",
    ]


def test_a_concurrent_map_lists_as_a_real_broker_lists_its_logs() -> None:
    # DescribeLogDirs of 3.7.2: fifty partitions among 107 logs.
    hashes = [31 * (31 + index) + string_hash("__consumer_offsets") for index in range(50)]
    assert concurrent_order(hashes, count=107)[:12] == [13, 46, 21, 30, 5, 38, 45, 12, 20, 29, 37, 4]


def test_the_keys_of_a_concurrent_map_are_in_the_order_of_its_history() -> None:
    keys = ConcurrentKeys(string_hash)
    for key in (
        "name-64",
        "name-111",
        "name-148",
        "g72",
        "g115",
        "g53",
        "name-75",
        "name-123",
        "g120",
        "name-149",
        "g1",
    ):
        keys.put(key)
    keys.put("g53")
    keys.put("none")
    keys.remove("none")
    keys.remove("none")
    for key in ("g42", "name-23", "g143"):
        keys.put(key)
    # As a ConcurrentHashMap of Java 17 lists them; its growth has reversed name-64 and name-75.
    assert list(keys) == [
        "g115", "name-23", "name-75", "name-64", "g72", "g53", "g42", "g143", "g120", "g1", "name-111", "name-148",
        "name-123", "name-149",
    ]  # fmt: skip


def test_a_hash_set_keeps_the_table_of_its_most_elements() -> None:
    assert hash_set_order([1, 16], most=11) == [1, 0]
    assert hash_set_order([1, 16], most=12) == [0, 1]


def test_a_changed_map_lists_what_it_kept_before_what_it_got() -> None:
    # Heartbeats of 4.3.1 to members whose partitions increase.
    assert hash_order_of_changed_map([4, 5], [4, 5], [1]) == [4, 5, 1]
    assert hash_order_of_changed_map([6], [6], [2]) == [6, 2]
    assert hash_order_of_changed_map([16, 17, 9, 10, 15], {9, 10, 15, 16, 17}, []) == [16, 17, 9, 10, 15]
    assert hash_order_of_changed_map([16, 19, 11], {11, 16, 19}, []) == [16, 19, 11]
    assert hash_order_of_changed_map([1], [], [16, 17]) == [16, 17]


def test_a_set_of_integers_keeps_the_order_of_each_bucket_and_its_size() -> None:
    made = IntegerSet([17, 1, 16])
    made.add(0)
    made.discard(17)
    assert (made.listed(), len(made)) == ([16, 0, 1], 3)
    for number in range(2, 12):
        made.add(number)
    assert made.listed() == [*range(12), 16]
    small = IntegerSet(capacity=2)
    small.add(2)
    small.add(0)
    assert small.listed() == [0, 2]


def test_a_set_that_was_made_from_others_has_room_for_them() -> None:
    # 12 strings fill a table of 16, but a set that is made from them has 32 buckets: 11 is no longer in that of 0.
    names = [str(number) for number in range(12)]
    assert hash_order(sorted(names))[:2] == ["0", "11"]
    assert hash_order_of_set(sorted(names))[:2] == ["11", "0"]
    assert hash_order_of_set(["0"], added=["11", "0"]) == ["0", "11"]


def test_a_key_that_is_computed_comes_first_in_its_bucket() -> None:
    assert hash_order_of_merged(["0"], ["11", "0"]) == ["11", "0"]
    assert hash_order_of_merged([], ["0", "11"]) == ["11", "0"]
    # The map does not grow with the last of 13 keys, as one of 13 puts does.
    names = [str(number) for number in range(13)]
    assert hash_order_of_merged([], names)[:4] == ["11", "0", "12", "1"]
    assert hash_order_of_merged([], [*names, "0"])[:2] == hash_order(names)[:2] == ["11", "12"]
