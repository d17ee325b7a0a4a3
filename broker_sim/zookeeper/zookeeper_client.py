"""A broker's connection to ZooKeeper: one session, its watches, and requests that are retried after a lost connection.

Mirrors ZooKeeperClient and KafkaZkClient's retryRequestsUntilConnected. The end of a session fails its requests with
SessionExpired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.links.node_links import LinkFailure
from broker_sim.zookeeper.messages import ZOOKEEPER_ID, Code, ZooKeeperError, ZooKeeperRequest, ZooKeeperResponse
from broker_sim.zookeeper.sessions import NO_SESSION
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from broker_sim.zookeeper.messages import Operation, Path, WatchFired
    from sim_runtime.interfaces import IReactor

RETRY_BACKOFF_MS: Final = 100


class ZooKeeperClient:
    """`fired` is called with the paths of watches, `expired` when a session is found to have ended."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: NodeLinks,
        broker_id: int,
        session_timeout_ms: int,
        fired: Callable[[list[Path]], None],
        expired: Callable[[], None],
    ) -> None:
        self._reactor = reactor
        self._links = links
        self._broker_id = broker_id
        self._ping_ms = max(1, session_timeout_ms // 3)
        self._fired = fired
        self._expired = expired
        self.session_id = NO_SESSION
        self._timer: IDelayedCall | None = None
        self._stopped = False

    def adopt(self, session_id: int) -> None:
        """Use an existing session: so a cluster starts as a whole."""
        self.session_id = session_id
        self._schedule_ping()

    async def connect(self) -> None:
        """Begin a session; returns when ZooKeeper has created it."""
        while self.session_id == NO_SESSION:
            response = await self._send("ZooKeeperConnect", NO_SESSION, lambda _, session: session.id)
            if response is not None:
                self.session_id = response.value
                self._schedule_ping()
                return
            await sleep(self._reactor, RETRY_BACKOFF_MS)

    async def request(self, name: str, operation: Operation) -> Any:
        """Run an operation at ZooKeeper and return its result.

        Raises:
            ZooKeeperError: The operation failed, or the session ended.
        """
        session_id = self.session_id
        while session_id == self.session_id and session_id != NO_SESSION:
            response = await self._send(name, session_id, operation)
            if response is None:
                await sleep(self._reactor, RETRY_BACKOFF_MS)
            elif response.code is Code.OK:
                return response.value
            else:
                if response.code is Code.SESSION_EXPIRED:
                    self._session_is_gone(session_id)
                raise ZooKeeperError(response.code)
        raise ZooKeeperError(Code.SESSION_EXPIRED)

    def close(self) -> None:
        """End the session, without waiting for the response."""
        if self.session_id != NO_SESSION and not self._stopped:
            request = ZooKeeperRequest(
                NAME="ZooKeeperClose",
                session_id=self.session_id,
                operation=lambda zookeeper, session: zookeeper.sessions.close(session),
            )
            self._links.send(self._broker_id, ZOOKEEPER_ID, request).addErrback(_swallow)

    def stop(self) -> None:
        """Stop: the process has ended, and no pending request gets a response."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def watch_fired(self, event: WatchFired) -> None:
        """Handle fired watches; those of an earlier session are ignored."""
        if event.session_id == self.session_id and not self._stopped:
            self._fired(event.paths)

    async def _send(self, name: str, session_id: int, operation: Operation) -> ZooKeeperResponse | None:
        """Return the response, None when the connection was lost; never returns after the process has ended."""
        request = ZooKeeperRequest(NAME=name, session_id=session_id, operation=operation)
        response: ZooKeeperResponse | None
        try:
            response = await self._links.send(self._broker_id, ZOOKEEPER_ID, request, timeout_ms=self._ping_ms)
        except LinkFailure:
            response = None
        if self._stopped:
            await Deferred()
        return response

    # The session.

    def _schedule_ping(self) -> None:
        if self._timer is None and not self._stopped:
            self._timer = self._reactor.callLater(self._ping_ms / 1000, self._ping)

    def _ping(self) -> None:
        self._timer = None
        Deferred.fromCoroutine(self._ping_once(self.session_id))

    async def _ping_once(self, session_id: int) -> None:
        response = await self._send("ZooKeeperPing", session_id, lambda _zookeeper, _session: None)
        if session_id != self.session_id:
            return
        if response is not None and response.code is Code.SESSION_EXPIRED:
            self._session_is_gone(session_id)
        elif response is None:
            await sleep(self._reactor, RETRY_BACKOFF_MS)
            if session_id == self.session_id and not self._stopped and self._timer is None:
                self._ping()
        else:
            self._schedule_ping()

    def _session_is_gone(self, session_id: int) -> None:
        if session_id == self.session_id:
            self.session_id = NO_SESSION
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            # Not from within: the caller is notified first that the session is gone.
            self._reactor.callLater(0, self._notify_expired)

    def _notify_expired(self) -> None:
        if not self._stopped:
            self._expired()


def _swallow(failure: Failure) -> None:
    failure.trap(LinkFailure)
