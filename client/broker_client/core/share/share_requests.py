"""The requests of a share consumer in their order: acknowledgements first, then fetches.

Mirrors ShareConsumeRequestManager.poll, run after every event instead of in a loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, succeed

from broker_client.core.share.share_acknowledger import ShareAcknowledger
from broker_client.core.share.share_fetch_buffer import ShareFetchBuffer
from broker_client.core.share.share_fetcher import ShareFetcher
from broker_client.core.share.share_nodes import ShareNodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.consumer.deserializers import Deserializers
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.metrics.consumer_metrics import ShareConsumerMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.share.acknowledgements import ByPartition, NodeAcknowledgements
    from broker_client.core.share.in_flight_records import InFlightRecords
    from broker_client.core.share.share_nodes import CompletedAcknowledgements
    from broker_client.core.share.share_options import ShareOptions
    from broker_client.share_groups import TopicIdPartition

__all__ = ["ShareRequests"]


class ShareRequests:
    """Call everything on the reactor's thread; waiting calls are notified when a request has ended."""

    def __init__(
        self,
        core: ClientCore,
        group_id: str,
        subscriptions: SubscriptionState,
        options: ShareOptions,
        deserializers: Deserializers,
        waits: CallWaits,
        metrics: ShareConsumerMetrics,
    ) -> None:
        self._waits = waits
        self._nodes = ShareNodes(core, group_id, metrics)
        self._buffer = ShareFetchBuffer(options.fetch, deserializers, core.metadata.request_update)
        self._acknowledger = ShareAcknowledger(self._nodes, options, self._on_event)
        self._fetcher = ShareFetcher(self._nodes, subscriptions, options, self._buffer, self._on_event)
        self._is_running = False
        self._runs_again = False

    @property
    def has_fetched(self) -> bool:
        """True if `collect` may return records, or raise."""
        return not self._buffer.is_empty

    def joined(self, member_id: str) -> None:
        """The coordinator knows the member: share sessions can be opened."""
        self._nodes.member_id = member_id
        self.run()

    async def collect(self, run: CallbackRunner) -> InFlightRecords:
        """Return fetched records, which `run` reads; raises the errors of ShareFetchBuffer.collect."""
        return await self._buffer.collect(run)

    def raise_failure(self) -> None:
        """Raise the final error of a ShareFetch request, once."""
        self._fetcher.raise_failure()

    def report_results(self, *, has_callback: bool) -> None:
        """Have `take_completed` return the results of all acknowledgements, or of those with renewals alone."""
        self._nodes.has_callback = has_callback

    def take_completed(self) -> list[CompletedAcknowledgements]:
        """Return the results since the last call."""
        completed, self._nodes.completed = self._nodes.completed, []
        return completed

    def fetch(self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements]) -> None:
        """Fetch until records come; the acknowledgements travel with the fetch."""
        self._fetcher.fetch(acknowledgements)
        self.run()

    def commit_async(
        self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements], timer: Callable[[], CallTimer]
    ) -> None:
        """Send acknowledgements; `take_completed` returns their results."""
        self._acknowledger.commit_async(acknowledgements, timer)
        self.run()

    def commit_sync(
        self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements], timer: Callable[[], CallTimer]
    ) -> Deferred[ByPartition]:
        """Send acknowledgements; fires with their results."""
        done = self._acknowledger.commit_sync(acknowledgements, timer)
        self.run()
        return done

    def close(
        self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements], timer: Callable[[], CallTimer]
    ) -> Deferred[None]:
        """Send the last acknowledgements and end all share sessions."""
        if self._nodes.member_id is None:
            return succeed(None)
        closed = self._acknowledger.close(acknowledgements, self._fetcher.take_waiting(), timer)
        self.run()
        return closed

    def run(self) -> None:
        """Send what can go; a call within another one is done after it."""
        self._runs_again = True
        if self._is_running or self._nodes.core.is_closed:
            return
        self._is_running = True
        try:
            while self._runs_again:
                self._runs_again = False
                if self._nodes.member_id is not None and not self._acknowledger.send():
                    self._fetcher.send()
        finally:
            self._is_running = False

    def _on_event(self) -> None:
        self.run()
        self._waits.notify()
