"""How a broker gets its metadata: one waiting fetch at the controller, then its own lag. Mirrors MetadataLoader and
BrokerMetadataPublisher.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from broker_sim.controller.controller_messages import MetadataLogRequest, MetadataLogResponse
from broker_sim.replication.broker_links import CONTROLLER_ID, LinkFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.controller.metadata_image import MetadataImage
    from broker_sim.replication.broker_links import BrokerLinks
    from sim_runtime.interfaces import IReactor

RETRY_BACKOFF_MS: Final = 100
REQUEST_TIMEOUT_MS: Final = 2_000
"""controller.quorum.request.timeout.ms: how soon a lost fetch of the metadata log is tried again."""


class MetadataLoader:
    """Fetches images from the controller and hands each to `apply`, `lag_ms` after it came, in order."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: BrokerLinks,
        broker_id: int,
        lag_ms: Callable[[], float],
        apply: Callable[[MetadataImage], None],
    ) -> None:
        self._reactor = reactor
        self._links = links
        self._broker_id = broker_id
        self._lag_ms = lag_ms
        self._apply = apply
        self._fetched_version = 0
        self._pending: deque[tuple[float, MetadataImage]] = deque()
        self._timer: IDelayedCall | None = None
        self._retry: IDelayedCall | None = None
        self._stopped = False

    def start(self, version: int) -> None:
        """Wait for whatever is newer than `version`."""
        self._fetched_version = version
        self._fetch()

    def stop(self) -> None:
        """The broker is gone."""
        self._stopped = True
        self._pending.clear()
        for timer in (self._timer, self._retry):
            if timer is not None and timer.active():
                timer.cancel()

    def _fetch(self) -> None:
        self._retry = None
        request = MetadataLogRequest(broker_id=self._broker_id, version=self._fetched_version)
        answer: Deferred[MetadataLogResponse] = self._links.send(
            self._broker_id, CONTROLLER_ID, request, timeout_ms=REQUEST_TIMEOUT_MS
        )
        answer.addCallbacks(self._fetched, self._failed)

    def _failed(self, failure: Failure) -> None:
        failure.trap(LinkFailure)
        if not self._stopped:
            self._retry = self._reactor.callLater(RETRY_BACKOFF_MS / 1000, self._fetch)

    def _fetched(self, response: MetadataLogResponse) -> None:
        if self._stopped:
            return
        image = response.image
        self._fetched_version = image.version
        lag_ms = self._lag_ms()
        if lag_ms <= 0 and not self._pending:
            self._apply(image)
        else:
            due = self._reactor.seconds() + max(lag_ms, 0) / 1000
            if self._pending and self._pending[-1][0] > due:
                due = self._pending[-1][0]
            self._pending.append((due, image))
            self._schedule()
        if not self._stopped:
            self._fetch()

    def _schedule(self) -> None:
        if self._timer is None and self._pending:
            delay_s = max(0.0, self._pending[0][0] - self._reactor.seconds())
            self._timer = self._reactor.callLater(delay_s, self._apply_due)

    def _apply_due(self) -> None:
        self._timer = None
        now_s = self._reactor.seconds() + 5e-7
        while self._pending and self._pending[0][0] <= now_s:
            self._apply(self._pending.popleft()[1])
        self._schedule()
