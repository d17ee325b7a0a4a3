"""A table on its way into the accumulator: rows to partitions, then to batches. KafkaProducer.doSend, by the column.

Rows that name a partition get it, rows with a key get their key's (murmur2), the others follow the sticky
partitioner. The batches are written one at a time, when there is memory for them, and partitions take turns, so that a
table larger than buffer.memory goes out in parts. Within a partition rows keep the table's order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from broker_client.core.batching.columnar_rows import NO_PARTITION, rows_of, take_rows
from broker_client.core.batching.murmur2_columns import partitions_of_keys
from broker_client.core.batching.section_appender import SectionAppender, section_memory
from broker_client.core.producer.future_table import FutureTable
from broker_client.core.producer.waits import WaitFor
from broker_client.errors import ProducerError, RecordTooLarge
from broker_client.records import UNKNOWN_PARTITION
from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.columnar.builder import iterate_sections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_client.core.batching.partitioners import Partitioner
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.producer.future_table import RowsCallback
    from broker_client.core.producer.producer_core import ProducerCore
    from broker_client.core.transactions.transactional_calls import TransactionalCalls
    from protocol_specs.records.columnar.arrays import Ints
    from protocol_specs.records.columnar.builder import RecordsSection
    from protocol_specs.records.columnar.columns import RecordColumns

    Pieces: TypeAlias = "Iterator[tuple[RecordsSection, Ints | slice]]"

__all__ = ["ColumnarSend"]


class ColumnarSend:
    """One call of `send_batch`: `advance` until it returns None, or `fail`. For one thread at a time."""

    __slots__ = (
        "_appender",
        "_cluster",
        "_core",
        "_left",
        "_rows",
        "_section",
        "_transactional",
        "_turns",
        "future",
        "highest_partition",
        "topic",
    )

    def __init__(
        self,
        core: ProducerCore,
        transactional: TransactionalCalls | None,
        topic: str,
        table: Any,
        now_ms: int,
        on_delivery: RowsCallback | None = None,
    ) -> None:
        self._core = core
        self._transactional = transactional
        self.topic = topic
        self._rows = rows_of(table, now_ms)
        count = len(self._rows)
        self.future = FutureTable(self._rows.columns.timestamp, on_delivery)
        requested = self._rows.partition
        self.highest_partition: int | None = int(requested.max()) if requested is not None and count else None
        self._cluster: Cluster | None = None
        self._appender = SectionAppender(core.accumulator, topic)
        # Partition, what it still gets. Whose turn it is stands first.
        self._turns: deque[tuple[int, Pieces]] = deque()
        self._section: tuple[RecordsSection, Ints | slice] | None = None
        self._left = np.ones(count, np.bool_)

    def advance(self, now_ms: int, granted_bytes: int = 0) -> WaitFor | None:
        """Append all that there is memory for, the first batch with what was granted; None when nothing is left."""
        core = self._core
        if self._transactional is not None:
            self._check_transaction(self._transactional, granted_bytes)
        if self._cluster is None:
            known = core.topics.look_up(self.topic, now_ms)
            if known is None or (
                self.highest_partition is not None and self.highest_partition >= known.partition_count
            ):
                if known is not None:
                    core.metadata.request_update_for_topic(self.topic)
                    core.wakeup()
                return WaitFor.METADATA
            self._cluster = known.cluster
            self._assign(known.cluster, known.partition_count)
        while self._turns:
            partition, pieces = self._turns[0]
            piece = self._section or next(pieces, None)
            if piece is None:
                self._turns.popleft()
                continue
            self._section = piece
            section, rows = piece
            batch = self._appender.append(partition, section, now_ms, self._cluster, granted_bytes)
            if batch is None:
                return WaitFor.MEMORY
            granted_bytes = 0
            self._section = None
            if self._transactional is not None:
                self._transactional.appended(batch.topic_partition)
            self._left[rows] = False
            self.future.follow(rows, batch.result)
            self._turns.rotate(-1)
        self.future.all_appended()
        return None

    @property
    def rows_left(self) -> int:
        """How many rows are not appended."""
        return int(np.count_nonzero(self._left))

    @property
    def memory_needed_bytes(self) -> int:
        """The bytes that the batch which waits for memory needs."""
        assert self._section is not None, "no batch waits for memory"
        return section_memory(self._section[0])

    def fail(self, error: ProducerError) -> None:
        """Give up what was not appended."""
        self.future.refuse(np.flatnonzero(self._left), error)
        self._turns.clear()
        self._section = None
        self.future.all_appended()

    # Details

    def _check_transaction(self, transactional: TransactionalCalls, granted_bytes: int) -> None:
        """Refuse when the transaction ended while the table waited."""
        try:
            transactional.check_send()
        except ProducerError:
            if granted_bytes:
                self._core.pool.deallocate(granted_bytes)
            raise

    def _assign(self, cluster: Cluster, partition_count: int) -> None:
        """Find the partition of every row that has one before it is appended."""
        fitting = self._refuse_too_large()
        if fitting is not None and not len(fitting):
            return
        partitions = self._partitions(cluster, partition_count)
        if partitions is None and fitting is None:
            self._turns.append((UNKNOWN_PARTITION, self._pieces(self._rows.columns, None)))
            return
        if partitions is None:
            assert fitting is not None
            self._turns.append((UNKNOWN_PARTITION, self._pieces(take_rows(self._rows.columns, fitting), fitting)))
            return
        if fitting is not None:
            order = fitting[np.argsort(partitions[fitting], kind="stable")]
        else:
            order = np.argsort(partitions, kind="stable")
        of_row = partitions[order]
        starts = np.flatnonzero(np.diff(of_row, prepend=-2))
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
            rows = order[first:end]
            self._turns.append((int(of_row[first]), self._pieces(take_rows(self._rows.columns, rows), rows)))

    def _pieces(self, columns: RecordColumns, rows: Ints | None) -> Pieces:
        first = 0
        limit_bytes = self._appender.limit_bytes(self._core.record_limit[0])
        for section in iterate_sections(columns, max_batch_bytes=limit_bytes, first_always_fits=True):
            end = first + section.count
            yield section, slice(first, end) if rows is None else rows[first:end]
            first = end

    def _refuse_too_large(self) -> Ints | None:
        """Fail the rows that no request or no buffer could hold; return the others, None for all of them."""
        limit_bytes, option = self._core.record_limit
        columns = self._rows.columns
        if not len(columns):
            return None
        bounds = self._rows.size_upper_bounds()
        too_large = bounds > limit_bytes
        if not too_large.any():
            return None
        for row in np.flatnonzero(too_large).tolist():
            error = RecordTooLarge(int(bounds[row]), limit_bytes, option)
            self._core.send_failed(error)
            self.future.refuse(slice(row, row + 1), error)
        self._left &= ~too_large
        return np.flatnonzero(~too_large)

    def _partitions(self, cluster: Cluster, partition_count: int) -> Ints | None:
        """The partition of each row; None if the sticky partitioner chooses each of them."""
        requested = self._rows.partition
        partitions = requested.copy() if requested is not None else np.full(len(self._rows), NO_PARTITION, np.int64)
        core = self._core
        columns = self._rows.columns
        if core.partitioner is not None:
            self._call_partitioner(core.partitioner, partitions, cluster, partition_count)
        elif "key" in columns.columns and not core.ignores_keys:
            keyed = partitions_of_keys(columns.key, partition_count)
            partitions = np.where(partitions == NO_PARTITION, keyed, partitions)
        free = np.flatnonzero(partitions == NO_PARTITION)
        if len(free) == len(partitions):
            return None
        if len(free):
            self._spread(free, partitions, cluster)
        return partitions

    def _call_partitioner(
        self, partitioner: Partitioner, partitions: Ints, cluster: Cluster, partition_count: int
    ) -> None:
        columns = self._rows.columns
        for row in np.flatnonzero(partitions == NO_PARTITION).tolist():
            key = columns.key[row] if "key" in columns.columns else None
            chosen = partitioner.partition(self.topic, key, columns.value[row], cluster)
            if not 0 <= chosen < partition_count:
                raise ProducerError(
                    f"the partitioner chose {chosen} for topic {self.topic!r}, which has {partition_count} partitions"
                )
            partitions[row] = chosen

    def _spread(self, free: Ints, partitions: Ints, cluster: Cluster) -> None:
        """Rows without a key among rows with one: a batch.size of bytes to one partition, then to the next."""
        batch_size = self._core.accumulator.config.batch_size
        ends = np.cumsum(self._rows.size_upper_bounds()[free])
        first = 0
        while first < len(free):
            before = int(ends[first - 1]) if first else 0
            end = max(first + 1, int(np.searchsorted(ends, before + batch_size, "right")))
            size_bytes = int(ends[end - 1]) - before
            partitions[free[first:end]] = self._appender.sticky_for(size_bytes, cluster)
            first = end
