"""The partition of a group, by Java's hash of its id."""

import pytest

from broker_sim.coordinators.internal_partitions import partition_for


@pytest.mark.parametrize(
    ("key", "partition"),
    [("my-group", 12), ("", 0), ("polygenelubricants", 0)],  # the last one has the hash -2^31
)
def test_the_hash_is_made_positive(key, partition):
    assert partition_for(key, 50) == partition
