"""Fetched partitions that wait to be read. Mirrors FetchBuffer, FetchCollector and CompletedFetch.

Partitions that were sought or unassigned meanwhile are dropped; those that are paused wait. The position moves with
the records that are returned. A fetch that a broker refused as stale is repeated after a metadata update.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from broker_client.core.consumer.fetched_batches import FetchedPartition
from broker_client.core.consumer.subscription_state import FetchPosition
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ProducerError, error_of
from broker_client.isolation_levels import IsolationLevel
from protocol_specs.error_codes import ErrorCode, ErrorFamily
from protocol_specs.errors import RecordBatchError

if TYPE_CHECKING:
    from broker_client.core.consumer.fetched_batches import FetchedBatch
    from broker_client.core.consumer.fetcher import FetchOptions
    from broker_client.core.consumer.offset_lookups import OffsetLookups
    from broker_client.core.consumer.subscription_state import PartitionState, SubscriptionState
    from broker_client.core.metrics.fetch_metrics import FetchMetrics, ResponseMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.records import TopicPartition
    from protocol_specs.message import RecordsBuffer
    from protocol_specs.messages.fetch import PartitionData
    from protocol_specs.records.record_rows import RowPortion, RowReader

__all__ = ["FetchBuffer", "joined_records"]

_RETRIED_IN_PLACE: Final = (ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH)


@dataclass(slots=True, kw_only=True)
class _Buffered:
    """One partition of a response; `parsed` is set when it is read first, `reader` reads the first batch."""

    key: TopicPartition
    position: FetchPosition
    data: PartitionData
    response: ResponseMetrics
    parsed: FetchedPartition | None = None
    batches: deque[FetchedBatch] = field(default_factory=deque)
    reader: RowReader | None = None
    read_bytes: int = 0
    read_records: int = 0


class FetchBuffer:
    """Call everything on the reactor's thread."""

    _partition: ClassVar[type[FetchedPartition]] = FetchedPartition

    def __init__(
        self,
        core: ClientCore,
        subscriptions: SubscriptionState,
        options: FetchOptions,
        lookups: OffsetLookups,
        metrics: FetchMetrics,
    ) -> None:
        self._core = core
        self._subscriptions = subscriptions
        self._options = options
        self._isolation_level = IsolationLevel.of(options.isolation_level)
        self._lookups = lookups
        self._metrics = metrics
        self._queue: deque[_Buffered] = deque()

    def add(self, key: TopicPartition, position: FetchPosition, data: PartitionData, response: ResponseMetrics) -> None:
        """Keep what a response has for a partition that was fetched from this position."""
        self._queue.append(_Buffered(key=key, position=position, data=data, response=response))

    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that are not fetched again before what they have is read."""
        return frozenset(one.key for one in self._queue)

    def take_records(self, count_max: int) -> list[RowPortion]:
        """Return portions of up to `count_max` ConsumerRecords and move the positions.

        Raises:
            ProducerError: the next batch cannot be decoded, or a broker refused the fetch; the position stays.
        """
        portions: list[RowPortion] = []
        waiting: deque[_Buffered] = deque()
        try:
            while self._queue and count_max > 0:
                head = self._queue[0]
                if not self._is_current(head):
                    self._drop()
                elif self._subscriptions.states[head.key].paused:
                    waiting.append(self._queue.popleft())
                else:
                    before = len(portions)
                    if not self._move_records(head, portions, count_max):
                        break
                    count_max -= sum(one.count for one in portions[before:])
        finally:
            waiting.extend(self._queue)
            self._queue = waiting
        return portions

    def take_batches(self) -> list[FetchedBatch]:
        """Return the batches of all partitions and move the positions behind them.

        Raises:
            ProducerError: the next batch is broken, or a broker refused the fetch; the position stays.
        """
        batches: list[FetchedBatch] = []
        waiting: deque[_Buffered] = deque()
        try:
            while self._queue:
                head = self._queue[0]
                if self._is_current(head) and self._subscriptions.states[head.key].paused:
                    waiting.append(self._queue.popleft())
                    continue
                if self._is_current(head):
                    if not self._open(head, has_records=bool(batches)):
                        break
                    offset = head.position.offset
                    for one in head.batches:
                        batches.append(one if one.position >= offset else replace(one, position=offset))
                        self._count(head, one.record_count(offset), one.size_bytes)
                    self._finish(head)
                self._drop()
        finally:
            waiting.extend(self._queue)
            self._queue = waiting
        return batches

    # Details

    def _is_current(self, one: _Buffered) -> bool:
        state = self._subscriptions.states.get(one.key)
        return state is not None and state.position is one.position and not (state.is_leaving or state.awaits_callback)

    def _move_records(self, head: _Buffered, portions: list[RowPortion], count_max: int) -> bool:
        """Move records of the first partition; return False to end the poll before an error."""
        if not self._open(head, has_records=bool(portions)):
            return False
        while head.batches and count_max > 0:
            batch = head.batches[0]
            if head.reader is None:
                try:
                    head.reader = batch.reader()
                except RecordBatchError as error:
                    if portions:
                        return False
                    self._drop()
                    raise ProducerError(
                        f"a batch of {head.key} at offset {head.position.offset} or later cannot be read: {error}; "
                        "seek past it to read on"
                    ) from error
            taken = head.reader.portion(count_max)
            self._count(head, taken.count, taken.size_bytes)
            if taken.count:
                portions.append(taken)
                count_max -= taken.count
            if head.reader.is_read:
                head.batches.popleft()
                head.reader = None
                self._move(head, batch.next_offset, batch.leader_epoch)
            else:
                self._move(head, taken.next_offset, batch.leader_epoch)
        if not head.batches:
            self._finish(head)
            self._drop()
        else:
            self._record_lag(head)
        return True

    def _count(self, head: _Buffered, records: int, size_bytes: int) -> None:
        head.read_records += records
        head.read_bytes += size_bytes

    def _drop(self) -> None:
        """Take the first partition away: it was read, or must not be."""
        head = self._queue.popleft()
        head.response.read(head.key, head.read_bytes, head.read_records)

    def _record_lag(self, head: _Buffered) -> None:
        state = self._subscriptions.states[head.key]
        read_committed = self._isolation_level is IsolationLevel.READ_COMMITTED
        self._metrics.record_lag(head.key, state.lag(read_committed=read_committed), state.lead)

    def _finish(self, head: _Buffered) -> None:
        parsed = head.parsed
        if parsed is not None and parsed.next_offset != head.position.offset:
            self._move(head, parsed.next_offset, parsed.last_epoch)
        if parsed is not None:
            self._record_lag(head)

    def _move(self, head: _Buffered, offset: int, epoch: int) -> None:
        leader_epoch = head.position.leader_epoch
        head.position = FetchPosition(offset=offset, offset_epoch=epoch, leader_epoch=leader_epoch)
        self._subscriptions.states[head.key].position = head.position

    def _open(self, head: _Buffered, *, has_records: bool) -> bool:
        """Parse a partition when it is read first; return False if its error has to wait for the next poll."""
        if head.parsed is not None:
            return True
        try:
            self._parse(head)
        except ProducerError:
            if has_records:
                return False
            self._drop()
            raise
        return True

    def _parse(self, head: _Buffered) -> None:
        key, position, data = head.key, head.position, head.data
        code = ErrorCode.for_code(data.error_code)
        if code is not ErrorCode.NONE:
            self._handle_error(key, position, code)
            return
        self._take_ends(self._subscriptions.states[key], data)
        parsed = self._partition(
            key,
            joined_records(data.records),
            position.offset,
            aborted=data.aborted_transactions if self._isolation_level is IsolationLevel.READ_COMMITTED else None,
            check_crcs=self._options.check_crcs,
            partition_max_bytes=self._options.max_partition_fetch_bytes,
        )
        try:
            head.batches.extend(parsed.batches())
        except RecordBatchError as error:
            raise ProducerError(
                f"a batch of {key} at offset {parsed.next_offset} cannot be read: {error}; seek past it to read on"
            ) from error
        head.parsed = parsed

    def _take_ends(self, state: PartitionState, data: PartitionData) -> None:
        """Keep the ends of the log that the response has. Mirrors FetchCollector.handleInitializeSuccess."""
        if data.high_watermark >= 0:
            state.high_watermark = data.high_watermark
        if data.log_start_offset >= 0:
            state.log_start_offset = data.log_start_offset
        if data.last_stable_offset >= 0:
            state.last_stable_offset = data.last_stable_offset

    def _handle_error(self, key: TopicPartition, position: FetchPosition, code: ErrorCode) -> None:
        state = self._subscriptions.states[key]
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and state.preferred_replica is not None:
            state.preferred_replica = None  # a follower may lack what the leader has
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if self._lookups.default_reset is None:
                raise BrokerError(code, f"{key} at {position.offset}; auto.offset.reset would choose another")
            state.position, state.reset = None, self._lookups.default_reset
        elif code.family is ErrorFamily.INVALID_METADATA or code in _RETRIED_IN_PLACE or code.retriable:
            self._subscriptions.back_off((key,), now_ms_of(self._core.reactor) + self._core.options.retry_backoff_ms)
            self._core.metadata.request_update()
        else:
            raise error_of(code, f"Fetch of {key}", topic=key.topic)


def joined_records(records: RecordsBuffer | None) -> bytes | memoryview:
    """Return the record set of a fetched partition as one buffer."""
    if records is None:
        return b""
    return b"".join(records) if isinstance(records, list) else records
