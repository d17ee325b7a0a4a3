"""Which partition a record goes to: keyed by murmur2, sticky and adaptive without a key, round robin.

Mirrors BuiltInPartitioner (KIP-480, KIP-794), DefaultPartitioner's hash and RoundRobinPartitioner.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

from broker_client.core.batching.murmur2 import murmur2, to_positive

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from broker_client.core.network.cluster import Cluster

__all__ = ["BuiltInPartitioner", "KeyHashes", "Partitioner", "RoundRobinPartitioner", "StickyPartition"]

KEYS_REMEMBERED_LIMIT: Final = 4096
KEY_REMEMBERED_BYTES_MAX: Final = 64


class Partitioner(Protocol):
    """The interface of `partitioner.class`: an object with this method.

    Mirrors org.apache.kafka.clients.producer.Partitioner.
    """

    def partition(self, topic: str, key: bytes | None, value: bytes | None, cluster: Cluster) -> int:
        """The partition for a record, from 0 up to the topic's partition count."""
        ...


class KeyHashes:
    """The positive murmur2 of keys, the latest few thousand remembered: loads repeat their keys."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def partition_for(self, key: bytes, partition_count: int) -> int:
        """The partition of a serialized key. Mirrors BuiltInPartitioner.partitionForKey."""
        known = self._known.get(key)
        if known is None:
            known = to_positive(murmur2(key))
            if len(key) <= KEY_REMEMBERED_BYTES_MAX:
                if len(self._known) >= KEYS_REMEMBERED_LIMIT:
                    self._known.clear()
                self._known[bytes(key)] = known
        return known % partition_count


class StickyPartition:
    """The partition of records without a key until the next switch, and the bytes produced to it so far."""

    __slots__ = ("partition", "produced_bytes")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.produced_bytes = 0


class _LoadStats:
    """Queue sizes; their weights are computed when a partition is chosen, which is rare."""

    __slots__ = ("all_partitions", "partitions", "queue_sizes")

    def __init__(self, queue_sizes: Sequence[int], partitions: Sequence[int], all_partitions: int) -> None:
        self.queue_sizes = queue_sizes
        self.partitions = partitions
        self.all_partitions = all_partitions

    def choose(self, drawn: int) -> int | None:
        """The partition that a number draws by its weight; None when all weigh the same.

        Sizes 0, 3, 1 become weights 4, 1, 3 and running sums 4, 5, 8.
        """
        sizes = self.queue_sizes
        if not sizes or self.all_partitions < 2:
            return None
        highest = max(sizes)
        if len(sizes) == self.all_partitions and min(sizes) == highest:
            return None
        cumulative = list(accumulate(highest + 1 - size for size in sizes))
        return self.partitions[bisect_right(cumulative, drawn % cumulative[-1])]


class BuiltInPartitioner:
    """The sticky, uniform partitioner of one topic; adaptive once load stats are there.

    A batch.size of bytes goes to one partition, then the next is drawn. Except for `current` and `update_load_stats`,
    methods are called under the lock of the sticky partition's queue.
    """

    __slots__ = ("_load_stats", "_random", "sticky", "sticky_batch_size", "topic")

    def __init__(self, topic: str, sticky_batch_size: int, random: random.Random) -> None:
        self.topic = topic
        self.sticky_batch_size = max(sticky_batch_size, 1)
        self._random = random
        self.sticky: StickyPartition | None = None
        """The partition until the next switch; None before the first record."""
        self._load_stats: _LoadStats | None = None

    @property
    def switches_at_bytes(self) -> int:
        """At so many the switch waits no longer for a batch to be full."""
        return self.sticky_batch_size * 2

    def current(self, cluster: Cluster) -> StickyPartition:
        """The sticky partition to lock; the caller checks under the lock that it is still the one."""
        sticky = self.sticky
        if sticky is None:
            self.sticky = sticky = StickyPartition(self._next_partition(cluster))
        return sticky

    def maybe_switch(self, sticky: StickyPartition, cluster: Cluster, *, enable_switch: bool) -> None:
        """Switch when the partition has enough bytes, which is never before `sticky_batch_size`.

        The switch waits (up to `switches_at_bytes`) while the queue's last batch is not full, so that lingering batches
        are not cut into fractions.
        """
        produced = sticky.produced_bytes
        if (produced >= self.sticky_batch_size and enable_switch) or produced >= self.switches_at_bytes:
            self.sticky = StickyPartition(self._next_partition(cluster))

    def update_load_stats(
        self, queue_sizes: Sequence[int] | None, partitions: Sequence[int], all_partitions: int
    ) -> None:
        """Take the queue sizes of the partitions that have a leader and respond in time; None switches to uniform.

        What is given is kept, and must not be changed.
        """
        self._load_stats = None if queue_sizes is None else _LoadStats(queue_sizes, partitions, all_partitions)

    def _next_partition(self, cluster: Cluster) -> int:
        drawn = self._random.getrandbits(31)
        stats = self._load_stats
        chosen = None if stats is None else stats.choose(drawn)
        if chosen is not None:
            return chosen
        available = cluster.available_partitions(self.topic)
        if available:
            return available[drawn % len(available)]
        return drawn % max(cluster.partition_count(self.topic), 1)


class RoundRobinPartitioner:
    """One partition after the other, those with a leader if any has one. Mirrors RoundRobinPartitioner."""

    __slots__ = ("_counters",)

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}

    def partition(self, topic: str, key: bytes | None, value: bytes | None, cluster: Cluster) -> int:  # noqa: ARG002
        """The next partition of the topic; the record has no influence."""
        count = self._counters.get(topic, 0)
        self._counters[topic] = (count + 1) & 0x7FFFFFFF
        available = cluster.available_partitions(topic)
        if available:
            return available[count % len(available)]
        return count % max(cluster.partition_count(topic), 1)
