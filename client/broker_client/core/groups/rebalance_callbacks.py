"""Calls the rebalance listener of a subscription. Mirrors ConsumerRebalanceListenerInvoker.

An error of the listener is returned and not raised: the rebalance completes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.logger import Logger

from broker_client.consumer_errors import RebalanceCallbackFailed, WakeupError
from broker_client.consumer_groups import NO_LISTENER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics
    from broker_client.records import TopicPartition

__all__ = ["RebalanceCallbacks"]

_log = Logger()


class RebalanceCallbacks:
    """The three callbacks; partitions are sorted by topic and number."""

    def __init__(
        self, subscriptions: SubscriptionState, run_callback: CallbackRunner, metrics: CoordinatorMetrics
    ) -> None:
        self._subscriptions = subscriptions
        self._run_callback = run_callback
        self._metrics = metrics

    async def revoked(self, partitions: Iterable[TopicPartition]) -> RebalanceCallbackFailed | None:
        """Call on_partitions_revoked; return the error of the listener."""
        return await self._call("revoked", self._subscriptions.listener.on_partitions_revoked, partitions)

    async def assigned(self, partitions: Iterable[TopicPartition]) -> RebalanceCallbackFailed | None:
        """Call on_partitions_assigned; return the error of the listener."""
        return await self._call("assigned", self._subscriptions.listener.on_partitions_assigned, partitions)

    async def lost(self, partitions: Iterable[TopicPartition]) -> RebalanceCallbackFailed | None:
        """Call on_partitions_lost; return the error of the listener."""
        return await self._call("lost", self._subscriptions.listener.on_partitions_lost, partitions)

    async def _call(
        self, what: str, callback: Callable[..., object], partitions: Iterable[TopicPartition]
    ) -> RebalanceCallbackFailed | None:
        keys = sorted(partitions)
        _log.info("rebalance: partitions {what} {keys}", what=what, keys=[str(key) for key in keys])
        began_ms = self._metrics.now_ms
        try:
            await self._run_callback(callback, keys)
            if self._subscriptions.listener is not NO_LISTENER:
                self._metrics.called_back(what, self._metrics.now_ms - began_ms)
        except WakeupError:
            raise
        except Exception as error:  # noqa: BLE001 - the application's error is reported when the rebalance is over
            _log.failure("rebalance: the listener raised in on_partitions_{what}", what=what)
            return RebalanceCallbackFailed(error)
        return None
