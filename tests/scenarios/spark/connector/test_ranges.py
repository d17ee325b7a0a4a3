from hypothesis import given
from hypothesis import strategies as st

from broker_client import TopicPartition
from broker_scenarios.spark.connector.ranges import OffsetRange, limited_ends, split_ranges

RANGES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 40)), max_size=4).map(
    lambda pairs: [OffsetRange("orders", number, start, start + size) for number, (start, size) in enumerate(pairs)]
)


def offsets(ranges):
    return [(each.partition, offset) for each in ranges for offset in range(each.start, each.end)]


@given(RANGES, st.none() | st.integers(1, 12))
def test_split_ranges_have_the_same_offsets_in_the_same_order(ranges, minimum):
    parts = split_ranges(ranges, minimum)
    assert offsets(parts) == offsets(ranges)
    assert all(part.size > 0 for part in parts)
    assert len(parts) >= min(minimum or 0, len(offsets(ranges)))


@given(RANGES, st.integers(1, 60))
def test_a_limit_keeps_the_proportions_and_lets_no_partition_starve(ranges, limit):
    starts = {TopicPartition("orders", each.partition): each.start for each in ranges}
    ends = {TopicPartition("orders", each.partition): each.end for each in ranges}
    limited = limited_ends(starts, ends, limit)
    sizes = [limited[key] - starts[key] for key in ends]
    assert sum(sizes) <= limit + len(ranges)
    assert all(limited[key] <= end for key, end in ends.items())
    assert all((size > 0) == (each.size > 0) for size, each in zip(sizes, ranges, strict=True))
