"""The share consumer without threads, on Deferreds. Mirrors ShareConsumerImpl (KIP-932, KIP-1206, KIP-1222).

Heartbeats, fetches and acknowledgements continue between the calls of the application.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.consumer_groups import NO_LISTENER
from broker_client.core.consumer.call_waits import CallWaits, PendingResult
from broker_client.core.consumer.deserializers import Deserializers
from broker_client.core.consumer.metadata_checks import MetadataChecks
from broker_client.core.consumer.subscription_state import SubscriptionState
from broker_client.core.groups.callback_runner import run_here
from broker_client.core.metrics.consumer_metrics import MetricOptions, ShareConsumerMetrics
from broker_client.core.share.in_flight_records import InFlightRecords
from broker_client.core.share.share_fetch_buffer import DeliveryFailed
from broker_client.core.share.share_group import ShareGroup
from broker_client.core.share.share_options import AcknowledgementMode
from broker_client.core.share.share_requests import ShareRequests
from broker_client.core.telemetry.measured_consumer import MeasuredConsumer
from broker_client.errors import IllegalState, ProducerError, ProducerTimeout
from broker_client.share_groups import AcknowledgeType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.core.consumer.call_waits import CallTimer
    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.share.acknowledgements import ByPartition, NodeAcknowledgements
    from broker_client.core.share.share_options import ShareOptions
    from broker_client.records import TopicPartition
    from broker_client.share_groups import AcknowledgementCommitCallback, TopicIdPartition

__all__ = ["ShareConsumerCore"]

_log: Final = Logger()


class ShareConsumerCore(MeasuredConsumer):
    """Call everything but `wakeup` on the reactor's thread; one call at a time.

    `acknowledge` and `acknowledge_offset` may be called on another thread while no call is under way.
    `core` keeps the topics of the subscription if it was made with `by_subscription`. `run_callback` calls functions of
    the application, and reads records.
    """

    metrics: ShareConsumerMetrics

    def __init__(
        self,
        core: ClientCore,
        options: ShareOptions,
        group: GroupOptions,
        *,
        run_callback: CallbackRunner = run_here,
        metrics: MetricOptions | None = None,
        deserializers: Deserializers | None = None,
    ) -> None:
        metrics = metrics or MetricOptions()
        self.metrics = ShareConsumerMetrics(core, metrics)
        labels = {"group_id": group.group_id, "client_rack": group.client_rack or None}
        super().__init__(core, push=metrics.push, labels=labels)
        self._is_implicit = options.acknowledgement_mode is AcknowledgementMode.IMPLICIT
        self._run_callback = run_callback
        self._subscriptions = SubscriptionState()
        self._waits = CallWaits(core)
        self._metadata_checks = MetadataChecks(core, self._subscriptions)
        self._requests = ShareRequests(
            core,
            group.group_id,
            self._subscriptions,
            options,
            deserializers or Deserializers(),
            self._waits,
            self.metrics,
        )
        self._group = ShareGroup(
            core, group, self._subscriptions, self._waits, self._requests.joined, self.metrics.coordinator
        )
        self._delivery = InFlightRecords()
        self._callback: AcknowledgementCommitCallback | None = None
        self._results: list[ByPartition] = []
        self._has_collected = False
        self._is_undelivered = False
        self._in_callback = False
        core.metadata.on_change(self._metadata_changed)

    # Subscription

    @property
    def subscription(self) -> tuple[str, ...]:
        """The topics that the consumer subscribes to."""
        self._check_caller()
        return tuple(self._subscriptions.subscription)

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that the group lets the consumer read."""
        return tuple(self._subscriptions.states)

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Share the partitions of these topics with the group; no topics is `unsubscribe`.

        Raises:
            IllegalState: a topic name is empty.
        """
        self._check_caller()
        wanted = list(dict.fromkeys(topics))
        if any(not topic.strip() for topic in wanted):
            raise IllegalState("Topic collection to subscribe to cannot contain null or empty topic")
        if not wanted:
            await self.unsubscribe()
        elif self._subscriptions.subscribe(wanted, NO_LISTENER):
            self._core.metadata.keep_only(self._subscriptions.topics, all_topics=False)

    async def unsubscribe(self) -> None:
        """Leave the group and forget the subscription."""
        self._check_caller()
        await self._group.leave(self._timer())
        self._core.metadata.keep_only((), all_topics=False)

    # Reading

    async def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        """Return the next records, or none after `timeout_ms`; with implicit acknowledgement accept those before.

        Raises:
            IllegalState: there is no subscription, or records of the poll before are not acknowledged (explicit).
            CorruptRecords: a batch fails its checksum; it is rejected.
            RecordDeserializationError: the next record cannot be deserialized; it is released.
            ProducerError: the group or a broker refuses the consumer.
            WakeupError: `wakeup` was called.
        """
        self._check_caller()
        self._has_collected = False
        self._raise_failure()
        await self._handle_completed()
        if self._is_undelivered:
            self._is_undelivered = False
            self._has_collected = True
            return self._delivery.records
        if self._is_implicit:
            self._delivery.acknowledge_all(AcknowledgeType.ACCEPT)
        elif not self._delivery.is_acknowledged:
            raise IllegalState("All records must be acknowledged in explicit acknowledgement mode.")
        self.metrics.poll_began()
        try:
            return await self._poll(self._waits.timer(timeout_ms))
        finally:
            self.metrics.poll_ended()

    def poll_was_cancelled(self) -> None:
        """Have the next poll return the records of this one again: the application has not received them."""
        self._is_undelivered = self._has_collected

    async def _poll(self, timer: CallTimer) -> list[ConsumerRecord]:
        if self._subscriptions.has_none:
            raise IllegalState("Consumer is not subscribed to any topics.")
        may_fetch = True
        while True:
            self._waits.check_wakeup()
            self._raise_failure()
            self._metadata_checks.check()
            self._group.polled()
            try:
                may_fetch = await self._collect(may_fetch=may_fetch)
            except DeliveryFailed as failed:
                self._delivery = failed.delivery
                raise failed.reason from None
            self._has_collected = not self._delivery.is_empty
            if self._has_collected or timer.is_expired:
                break
            if self._delivery.has_renewals or not self._requests.has_fetched:
                await self._waits.event(timer.left_ms)
                self._take_completed()
        await self._handle_completed()
        return self._delivery.records

    # Acknowledgements

    def acknowledge(self, record: ConsumerRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Choose the outcome of a record of the last poll; sent with the next poll, commit or close.

        Raises:
            IllegalState: the mode is implicit, or the record is not in flight.
        """
        self._check_explicit()
        self._delivery.acknowledge(record.topic, record.partition, record.offset, AcknowledgeType(kind))

    def acknowledge_offset(self, topic: str, partition: int, offset: int, kind: AcknowledgeType) -> None:
        """Choose the outcome of a record that could not be read: one of CorruptRecords or RecordDeserializationError.

        Raises:
            IllegalState: the mode is implicit, or the last poll did not raise for the record.
        """
        self._check_explicit()
        self._delivery.acknowledge(topic, partition, offset, AcknowledgeType(kind), is_unreadable=True)

    async def commit_sync(self, timeout_ms: int | None = None) -> dict[TopicIdPartition, ProducerError | None]:
        """Send the acknowledgements and return the error of each partition, or None.

        Raises:
            ProducerTimeout: not all brokers have responded in time.
            WakeupError: `wakeup` was called; the acknowledgements are sent nevertheless.
        """
        acknowledgements = await self._take_acknowledged()
        if not acknowledgements:
            return {}
        timer = self._timer(timeout_ms)
        done = self._requests.commit_sync(acknowledgements, partial(self._timer, timer.timeout_ms))
        pending = PendingResult.of(done, self._waits)
        if not await self._waits.until(lambda: pending.is_done, timer):
            names = ", ".join(str(key) for key in acknowledgements)
            raise ProducerTimeout(
                f"the acknowledgements of {names} were not confirmed within {timer.timeout_ms} ms", "timeout"
            )
        results = {key: one.error for key, one in pending.value.items()}
        await self._handle_completed()
        return results

    async def commit_async(self) -> None:
        """Send the acknowledgements; the acknowledgement commit callback reports their results."""
        acknowledgements = await self._take_acknowledged()
        if acknowledgements:
            self._requests.commit_async(acknowledgements, self._timer)

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCommitCallback | None) -> None:
        """Have calls of the consumer call `callback` with the results of acknowledgements; None ends that."""
        self._check_caller()
        self._callback = callback
        if callback is None:
            self._results = []
        self._requests.report_results(has_callback=callback is not None)

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        """The time for which the records of the last poll are locked; None before the first."""
        self._check_caller()
        return self._delivery.lock_timeout_ms

    # The end

    def wakeup(self) -> None:
        """End the current call, or the next one that waits, with WakeupError."""
        self._waits.wakeup()

    async def close(self, timeout_ms: int) -> None:
        """Send the acknowledgements, end the share sessions and leave the group, within request.timeout.ms at most."""
        self._check_caller()
        self._waits.wakeups_disabled = True
        self.prepare_last_push(timeout_ms)
        timer = self._timer(min(timeout_ms, self._core.options.network.request_timeout_ms))
        closed = self._requests.close(self._delivery.take_acknowledged(), partial(self._timer, timer.timeout_ms))
        pending = PendingResult.of(closed, self._waits)
        await self._waits.until(lambda: pending.is_done, timer)
        await self._group.leave(timer)
        self._core.metadata.forget(self._metadata_changed)
        self._core.push_last_metrics()
        await self._handle_completed()

    # Details

    def _timer(self, timeout_ms: int | None = None) -> CallTimer:
        return self._waits.timer(self._core.options.default_api_timeout_ms if timeout_ms is None else timeout_ms)

    def _check_caller(self) -> None:
        if self._in_callback:
            raise IllegalState(
                "ShareConsumer methods are not accessible from user-defined acknowledgement commit callback."
            )

    def _check_explicit(self) -> None:
        self._check_caller()
        if self._is_implicit:
            raise IllegalState("Implicit acknowledgement of delivery is being used.")

    def _raise_failure(self) -> None:
        self._requests.raise_failure()
        self._metadata_checks.raise_failure()

    def _metadata_changed(self) -> None:
        if self._core.metadata.closed:
            return
        self._core.metadata.on_change(self._metadata_changed)
        self._group.reconcile()
        self._requests.run()

    async def _take_acknowledged(self) -> dict[TopicIdPartition, NodeAcknowledgements]:
        self._check_caller()
        await self._handle_completed()
        if self._is_implicit:
            self._delivery.acknowledge_all(AcknowledgeType.ACCEPT)
        return self._delivery.take_acknowledged()

    async def _collect(self, *, may_fetch: bool) -> bool:
        """Take fetched records as the next delivery, and send acknowledgements; return False once fetches began.

        Records that are still in flight, and renewals, come before new records. As in Java, acknowledgements are lost
        when reading raises: the locks of their records expire.
        """
        acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements] = self._delivery.take_acknowledged()
        wants_records = self._delivery.is_empty and not self._delivery.has_renewals
        if wants_records:
            fetched = await self._requests.collect(self._run_callback)
            if fetched.is_empty:
                gaps = fetched.take_acknowledged()
                if gaps:
                    self._requests.commit_async(gaps, self._timer)
            else:
                self._delivery, wants_records = fetched, False
        elif self._delivery.has_renewals:
            self._delivery.take_renewed()
            wants_records = self._delivery.has_renewals
        if wants_records and may_fetch:
            self._requests.fetch(acknowledgements)
            return False
        if acknowledgements:
            self._requests.commit_async(acknowledgements, self._timer)
        return may_fetch

    def _take_completed(self) -> None:
        """Return records with renewed locks to the delivery, and keep all results for the callback."""
        for one in self._requests.take_completed():
            if self._callback is not None:
                self._results.append(one.acknowledgements)
            if one.has_renewals:
                self._delivery.renewed(one.acknowledgements, one.lock_timeout_ms)

    async def _handle_completed(self) -> None:
        """Call the acknowledgement commit callback with the results that have come."""
        self._take_completed()
        results, self._results = self._results, []
        for acknowledgements in results:
            for partition, one in acknowledgements.items():
                if self._callback is None:
                    return
                self._in_callback = True
                try:
                    await self._run_callback(self._callback, {partition: frozenset(one.types)}, one.error)
                except Exception:  # noqa: BLE001 - the application's function may raise anything
                    _log.failure("share consumer: the acknowledgement commit callback raised")
                finally:
                    self._in_callback = False
