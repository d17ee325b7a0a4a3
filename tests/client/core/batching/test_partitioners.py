"""Where records go: by key, sticky and weighted by queue sizes without one, in turn."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as reference_murmur2

from broker_client.core.batching.partitioners import BuiltInPartitioner, KeyHashes, RoundRobinPartitioner
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.records import PartitionInfo


def cluster_of(leaders: list[int | None]) -> Cluster:
    partitions = tuple(
        PartitionInfo(
            topic="t",
            partition=index,
            leader=leader,
            leader_epoch=0,
            replicas=(1,),
            in_sync_replicas=(1,),
            offline_replicas=(),
        )
        for index, leader in enumerate(leaders)
    )
    return Cluster(
        nodes={1: Node(1, "h", 1)}, topics={"t": TopicMetadata(name="t", topic_id=None, partitions=partitions)}
    )


def choose(partitioner: BuiltInPartitioner, cluster: Cluster, times: int, size: int) -> list[int]:
    chosen = []
    for _ in range(times):
        sticky = partitioner.current(cluster)
        chosen.append(sticky.partition)
        sticky.produced_bytes += size
        partitioner.maybe_switch(sticky, cluster, enable_switch=True)
    return chosen


def test_a_key_goes_where_other_clients_send_it() -> None:
    hashes = KeyHashes()
    for number in range(300):
        key = b"key-%d" % number
        assert hashes.partition_for(key, 7) == (reference_murmur2(key) & 0x7FFFFFFF) % 7


def test_a_partition_sticks_for_a_batch_size_of_bytes() -> None:
    partitioner = BuiltInPartitioner("t", 1_000, random.Random(1))
    chosen = choose(partitioner, cluster_of([1, 1, 1]), 40, 100)
    runs = [chosen[index : index + 10] for index in range(0, 40, 10)]
    assert all(len(dict.fromkeys(run)) == 1 for run in runs)


def test_the_switch_waits_for_a_full_batch_up_to_twice_the_size() -> None:
    partitioner = BuiltInPartitioner("t", 1_000, random.Random(1))
    cluster = cluster_of([1] * 5)
    sticky = partitioner.current(cluster)
    sticky.produced_bytes = 1_500
    partitioner.maybe_switch(sticky, cluster, enable_switch=False)
    assert partitioner.sticky is sticky
    sticky.produced_bytes = 2_000
    partitioner.maybe_switch(sticky, cluster, enable_switch=False)
    assert partitioner.sticky is not sticky


def test_partitions_without_leader_are_not_chosen() -> None:
    partitioner = BuiltInPartitioner("t", 1, random.Random(1))
    assert set(choose(partitioner, cluster_of([1, None, 1]), 50, 1)) == {0, 2}


def test_without_any_leader_every_partition_may_be_chosen() -> None:
    partitioner = BuiltInPartitioner("t", 1, random.Random(1))
    assert set(choose(partitioner, cluster_of([None, None]), 50, 1)) == {0, 1}


def test_long_queues_get_less() -> None:
    partitioner = BuiltInPartitioner("t", 1, random.Random(1))
    partitioner.update_load_stats([0, 3, 1], [0, 1, 2], 3)
    counts = Counter(choose(partitioner, cluster_of([1, 1, 1]), 8_000, 1))
    # Weights 4, 1, 3.
    assert abs(counts[0] - 4_000) < 300
    assert abs(counts[1] - 1_000) < 300
    assert abs(counts[2] - 3_000) < 300


def test_equal_queues_are_uniform_and_an_excluded_partition_gets_nothing() -> None:
    partitioner = BuiltInPartitioner("t", 1, random.Random(1))
    partitioner.update_load_stats([2, 2, 2], [0, 1, 2], 3)
    assert set(choose(partitioner, cluster_of([1, 1, 1]), 100, 1)) == {0, 1, 2}
    partitioner.update_load_stats([2, 2], [0, 2], 3)
    assert set(choose(partitioner, cluster_of([1, 1, 1]), 100, 1)) <= {0, 2}
    partitioner.update_load_stats(None, [], 3)
    assert set(choose(partitioner, cluster_of([1, 1, 1]), 100, 1)) == {0, 1, 2}


def test_round_robin_takes_turns_among_partitions_with_a_leader() -> None:
    partitioner = RoundRobinPartitioner()
    cluster = cluster_of([1, None, 1])
    assert [partitioner.partition("t", b"k", None, cluster) for _ in range(4)] == [0, 2, 0, 2]


class EachNumberOnce(random.Random):
    """Draws 0, 1, 2 and so on: what is uniform comes out exactly."""

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn = 0

    def getrandbits(self, k: int, /) -> int:  # noqa: ARG002
        self.drawn += 1
        return self.drawn - 1


@given(
    batch_size=st.integers(0, 300),
    appends=st.lists(st.tuples(st.integers(1, 400), st.booleans()), max_size=60),
    leaders=st.lists(st.sampled_from([1, None]), min_size=1, max_size=5),
)
def test_a_partition_is_left_at_its_size_when_full_and_at_twice_its_size_in_any_case(
    batch_size: int, appends: list[tuple[int, bool]], leaders: list[int | None]
) -> None:
    partitioner = BuiltInPartitioner("t", batch_size, random.Random(1))
    cluster = cluster_of(leaders)
    limit = max(batch_size, 1)
    produced = 0
    for size, full in appends:
        sticky = partitioner.current(cluster)
        assert leaders[sticky.partition] == 1 or not any(leaders)
        produced += size
        sticky.produced_bytes += size
        partitioner.maybe_switch(sticky, cluster, enable_switch=full)
        left = partitioner.sticky is not sticky
        assert left == (produced >= 2 * limit or (full and produced >= limit))
        assert produced < 2 * limit or left
        produced = 0 if left else produced


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    excluded=st.integers(0, 3),
    numbering=st.randoms(use_true_random=False),
)
def test_each_queue_is_weighted_by_what_it_is_shorter_than_the_longest(
    sizes: list[int], excluded: int, numbering: random.Random
) -> None:
    everyone = len(sizes) + excluded
    partitions = sorted(numbering.sample(range(everyone), len(sizes)))
    partitioner = BuiltInPartitioner("t", 1, EachNumberOnce())
    partitioner.update_load_stats(sizes, partitions, everyone)
    weights = {partition: max(sizes) + 1 - size for partition, size in zip(partitions, sizes, strict=True)}
    if everyone < 2 or (not excluded and len(dict.fromkeys(sizes)) == 1):
        weights = dict.fromkeys(range(everyone), 1)  # nothing to choose by: all alike
    counts = Counter(choose(partitioner, cluster_of([1] * everyone), sum(weights.values()), 1))
    assert counts == weights


@given(leaders=st.lists(st.sampled_from([1, None]), min_size=1, max_size=8))
def test_without_weights_each_partition_with_a_leader_is_as_likely(leaders: list[int | None]) -> None:
    available = [index for index, leader in enumerate(leaders) if leader] or list(range(len(leaders)))
    partitioner = BuiltInPartitioner("t", 1, EachNumberOnce())
    assert Counter(choose(partitioner, cluster_of(leaders), len(available), 1)) == dict.fromkeys(available, 1)


@given(leaders=st.lists(st.sampled_from([1, None]), min_size=1, max_size=6), turns=st.integers(1, 20))
def test_round_robin_is_even_for_any_keys(leaders: list[int | None], turns: int) -> None:
    partitioner = RoundRobinPartitioner()
    cluster = cluster_of(leaders)
    counts = Counter(partitioner.partition("t", b"%d" % turn, None, cluster) for turn in range(turns))
    available = [index for index, leader in enumerate(leaders) if leader] or list(range(len(leaders)))
    assert set(counts) <= set(available)
    assert max(counts.values()) - min(counts[partition] for partition in available) <= 1
