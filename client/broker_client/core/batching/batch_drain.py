"""Which batches go into a node's next request. Mirrors RecordAccumulator.drainBatchesForOneNode.

Each node remembers where its last walk over its partitions began, so that the first ones do not starve the others. A
walk ends at a partition that may not send yet, as in Kafka, and when the request is full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.batch_peek import NO_SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.transactions.producer_id_state import ProducerIdState
    from broker_client.records import TopicPartition

__all__ = ["BatchDrain"]


class BatchDrain:
    """The walk and its indexes; used by the Sender alone."""

    __slots__ = ("_indexes", "_muted", "_queue_of", "_transactions")

    def __init__(
        self,
        queue_of: Callable[[TopicPartition], PartitionQueue | None],
        muted: AbstractSet[TopicPartition],
        transactions: ProducerIdState | None,
    ) -> None:
        self._queue_of = queue_of
        self._muted = muted
        self._transactions = transactions
        self._indexes: dict[int, int] = {}

    def drain_node(self, cluster: Cluster, node: int, max_size: int, now_ms: int) -> list[ProducerBatch]:
        """Take at most one batch a partition that `node` leads, `max_size` bytes in all but one batch at least."""
        partitions = cluster.partitions_for_node(node)
        ready: list[ProducerBatch] = []
        if not partitions:
            return ready
        size = 0
        start = self._indexes.get(node, 0) % len(partitions)
        for step in range(len(partitions)):
            index = (start + step) % len(partitions)
            self._indexes[node] = index
            key = partitions[index]
            queue = self._queue_of(key)
            if queue is None or key in self._muted or not queue.batches:
                continue
            with queue.lock:
                queue.flush()
                first = queue.batches[0]
                first.update_leader_epoch(cluster.leader_epoch_for(key))
                if first.is_backing_off(now_ms):
                    continue
                if ready and size + first.estimated_size_in_bytes > max_size:
                    break
                if self._must_wait(first):
                    break
                queue.batches.popleft()
                self._assign_sequence(first)
            size += len(first.close())
            ready.append(first)
            first.drained(now_ms)
        return ready

    def _must_wait(self, first: ProducerBatch) -> bool:
        """True if idempotence or a transaction delays this batch. Mirrors shouldStopDrainBatchesForPartition."""
        transactions = self._transactions
        if transactions is None:
            return False
        key = first.topic_partition
        if not transactions.is_send_to_partition_allowed(key):
            return True
        if not transactions.producer_id_and_epoch.is_valid:
            return True
        if not first.has_sequence:
            if transactions.has_in_flight_batches(key) and transactions.has_stale_producer_id_and_epoch(key):
                return True  # a batch of the new epoch must not overtake those of the old one
            if transactions.has_unresolved_sequence(key):
                return True  # the fate of what was sent before decides which sequence comes next
        # A retry goes alone, in its turn: only the lowest sequence that is still unanswered may go.
        lowest = transactions.first_in_flight_sequence(key)
        return lowest != NO_SEQUENCE and first.has_sequence and first.base_sequence != lowest

    def _assign_sequence(self, batch: ProducerBatch) -> None:
        if self._transactions is not None and not batch.has_sequence:
            self._transactions.assign_sequence(batch)
