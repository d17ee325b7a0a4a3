"""The order of a Java HashMap; the expected hashes are those of String.hashCode."""

from __future__ import annotations

from broker_client.core.groups.hash_order import in_hash_order, string_hash
from broker_client.records import TopicPartition


def test_the_hash_of_a_text_is_that_of_java() -> None:
    assert string_hash("") == 0
    assert string_hash("a") == 97
    assert string_hash("hello") == 99162322
    assert string_hash("polygenelubricants") == 0x80000000


def test_keys_are_ordered_by_bucket_and_then_by_arrival() -> None:
    assert in_hash_order(["b", "a", "c"]) == ["a", "b", "c"]
    assert in_hash_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert in_hash_order(["BB", "Aa"]) == ["BB", "Aa"]  # one bucket: equal hashes
    assert in_hash_order(TopicPartition("t", number) for number in (0, 1)) == [
        TopicPartition("t", 1),  # 1108 & 15 is 4
        TopicPartition("t", 0),  # 1077 & 15 is 5
    ]
