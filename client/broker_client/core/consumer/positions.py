"""Chooses the positions of assigned partitions: committed offset, else auto.offset.reset. Mirrors updateFetchPositions.

Positions whose leader has changed are validated by epoch (KIP-320).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from broker_client.consumer_errors import NoOffsetForPartition
from broker_client.core.consumer.fetcher import producer_error
from broker_client.core.consumer.subscription_state import NO_EPOCH, FetchPosition

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from twisted.python.failure import Failure

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.consumer.offset_lookups import OffsetLookups
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.consumer_group import ConsumerGroup
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.network.cluster import Cluster
    from broker_client.errors import ProducerError

__all__ = ["Positions"]


class Positions:
    """Call everything on the reactor's thread; look-ups go on between calls."""

    def __init__(
        self, core: ClientCore, subscriptions: SubscriptionState, lookups: OffsetLookups, waits: CallWaits
    ) -> None:
        self._core = core
        self._subscriptions = subscriptions
        self._lookups = lookups
        self._waits = waits
        self._failure: ProducerError | None = None

    async def update(self, group: ConsumerGroup | None, timer: CallTimer) -> bool:
        """Begin what is due; return False if the committed offsets are not known in time.

        Raises:
            NoOffsetForPartition: a partition has no position, and auto.offset.reset is none.
            ProducerError: the coordinator refuses the request, or an earlier look-up failed.
        """
        self.raise_failure()
        initializing = self._subscriptions.initializing()
        if group is not None and initializing:
            found = await group.fetch_committed(initializing, timer)
            if found is None:
                return False
            self._take_committed(found)
        self.validate(self._core.metadata.cluster)
        self._reset_others()
        unknown = self._lookups.to_reset()
        if unknown:
            self._run(self._lookups.reset(unknown))
        return True

    def validate(self, cluster: Cluster) -> None:
        """Check the positions whose leader is newer than the one that they were checked with."""
        outdated = self._lookups.to_validate(cluster)
        if outdated:
            self._run(self._lookups.validate(outdated))

    def raise_failure(self) -> None:
        """Raise the error of a look-up, once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # Details

    def _take_committed(self, found: dict[Any, Any]) -> None:
        """Continue at the committed offsets; those with an epoch are validated first (KIP-320)."""
        for key, committed in found.items():
            state = self._subscriptions.states.get(key)
            if state is None or committed is None or state.position is not None or state.reset is not None:
                continue
            state.position = FetchPosition(
                offset=committed.offset,
                offset_epoch=NO_EPOCH if committed.leader_epoch is None else committed.leader_epoch,
            )

    def _reset_others(self) -> None:
        for key in self._subscriptions.initializing():
            if self._lookups.default_reset is None:
                raise NoOffsetForPartition(key)
            self._subscriptions.states[key].reset = self._lookups.default_reset

    def _run(self, task: Coroutine[Any, Any, None]) -> None:
        """Let a look-up run on; the next call that needs a position raises its error."""

        def failed(failure: Failure) -> None:
            self._failure = producer_error(failure)

        running = Deferred.fromCoroutine(task)
        running.addErrback(failed)
        running.addCallback(self._waits.notify)
