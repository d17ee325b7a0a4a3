"""The order of a Java HashMap."""

from __future__ import annotations

from broker_client.core.groups.hash_order import in_hash_order
from broker_client.records import TopicPartition


def test_keys_are_ordered_by_bucket_and_then_by_arrival() -> None:
    assert in_hash_order(["b", "a", "c"]) == ["a", "b", "c"]
    assert in_hash_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert in_hash_order(["BB", "Aa"]) == ["BB", "Aa"]  # one bucket: equal hashes
    assert in_hash_order(TopicPartition("t", number) for number in (0, 1)) == [
        TopicPartition("t", 1),  # 1108 & 15 is 4
        TopicPartition("t", 0),  # 1077 & 15 is 5
    ]
