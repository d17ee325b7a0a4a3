"""The controller's connections to brokers: one queue per broker, one request in flight, repeated until its response.

Mirrors ControllerChannelManager and RequestSendThread: the requests to one broker arrive in order, and a slow broker
delays no other. The races of ZooKeeper mode are here: brokers receive one decision at different times.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from broker_sim.links.node_links import LinkFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from sim_runtime.interfaces import IReactor

RETRY_BACKOFF_MS: Final = 100


class _Channel:
    __slots__ = ("closed", "in_flight", "queue", "timer")

    def __init__(self) -> None:
        self.queue: deque[tuple[Any, int, Callable[[Any], None] | None]] = deque()
        self.in_flight = False
        self.timer: IDelayedCall | None = None
        self.closed = False


class ControllerChannelManager:
    """Queues requests to added brokers; the queue of a removed one is dropped."""

    def __init__(self, *, reactor: IReactor, links: NodeLinks, controller_id: int, socket_timeout_ms: int) -> None:
        self._reactor = reactor
        self._links = links
        self._controller_id = controller_id
        self._timeout_ms = socket_timeout_ms
        self._channels: dict[int, _Channel] = {}

    def add_broker(self, broker_id: int) -> None:
        """Open a queue of requests to a broker."""
        if broker_id not in self._channels:
            self._channels[broker_id] = _Channel()

    def remove_broker(self, broker_id: int) -> None:
        """Drop the connection to a broker: its request in flight is not repeated, and its response ignored."""
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            channel.closed = True
            channel.queue.clear()
            if channel.timer is not None:
                channel.timer.cancel()

    def stop(self) -> None:
        """Remove all brokers."""
        for broker_id in list(self._channels):
            self.remove_broker(broker_id)

    def queued(self, broker_id: int) -> int:
        """Return the number of requests to a broker, with the one in flight."""
        channel = self._channels.get(broker_id)
        return 0 if channel is None else len(channel.queue)

    def send(
        self, broker_id: int, request: Any, *, version: int, responded: Callable[[Any], None] | None = None
    ) -> None:
        """Queue a request; a broker that is not there gets nothing."""
        channel = self._channels.get(broker_id)
        if channel is not None:
            channel.queue.append((request, version, responded))
            self._send_next(broker_id, channel)

    def _send_next(self, broker_id: int, channel: _Channel) -> None:
        if channel.closed or channel.in_flight or channel.timer is not None or not channel.queue:
            return
        request, version, _ = channel.queue[0]
        channel.in_flight = True
        response = self._links.send(
            self._controller_id, broker_id, request, version=version, timeout_ms=self._timeout_ms
        )
        response.addCallbacks(
            self._responded, self._failed, callbackArgs=(broker_id, channel), errbackArgs=(broker_id, channel)
        )

    def _responded(self, response: Any, broker_id: int, channel: _Channel) -> None:
        channel.in_flight = False
        if channel.closed:
            return
        _, _, responded = channel.queue.popleft()
        if responded is not None:
            responded(response)
        self._send_next(broker_id, channel)

    def _failed(self, failure: Failure, broker_id: int, channel: _Channel) -> None:
        failure.trap(LinkFailure)
        channel.in_flight = False

        def again() -> None:
            channel.timer = None
            self._send_next(broker_id, channel)

        if not channel.closed:
            channel.timer = self._reactor.callLater(RETRY_BACKOFF_MS / 1000, again)
