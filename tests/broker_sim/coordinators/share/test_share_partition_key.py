from __future__ import annotations

from broker_sim.coordinators.share.share_partition_key import SharePartitionKey


def test_the_text_of_a_key_is_the_one_of_find_coordinator() -> None:
    assert SharePartitionKey("a:b", bytes(15) + b"\x12", 7).text == "a:b:AAAAAAAAAAAAAAAAAAAAEg:7"
