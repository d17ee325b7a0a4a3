"""The controller's event queue: events are processed one after the other. Mirrors ControllerEventManager.

While an event waits for ZooKeeper all others wait behind it; `clear` drops them, as after an expired session.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_sim.zookeeper.messages import Code, ZooKeeperError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from twisted.internet.interfaces import IDelayedCall

    from sim_runtime.interfaces import IReactor

    Event = Callable[[], Awaitable[Any]]

_log = Logger()


class ControllerEventManager:
    """`moved` is called when an event has found out that another broker is controller."""

    def __init__(self, *, reactor: IReactor, moved: Callable[[], Awaitable[None]]) -> None:
        self._reactor = reactor
        self._moved = moved
        self._queue: deque[tuple[str, Event, Deferred[Any]]] = deque()
        self._running = False
        self._call: IDelayedCall | None = None
        self._stopped = False

    @property
    def waiting(self) -> int:
        """The number of queued events, without the one that is being processed."""
        return len(self._queue)

    def put(self, name: str, event: Event) -> Deferred[Any]:
        """Queue an event; fires with its result, or fails with ZooKeeperError. Never begins within this call."""
        done: Deferred[Any] = Deferred()
        if not self._stopped:
            self._queue.append((name, event, done))
            self._schedule()
        return done

    def enqueue(self, name: str, event: Event) -> None:
        """Queue an event whose result the caller does not need."""
        self.put(name, event).addErrback(lambda failure: failure.trap(ZooKeeperError))

    def clear(self) -> None:
        """Drop the queued events; their callers get the error of an expired session."""
        queue, self._queue = self._queue, deque()
        for _, _, done in queue:
            done.errback(ZooKeeperError(Code.SESSION_EXPIRED))

    def stop(self) -> None:
        """Stop the queue: the process has ended, and no caller gets a result."""
        self._stopped = True
        self._queue.clear()
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _schedule(self) -> None:
        if not self._running and self._call is None and not self._stopped:
            self._call = self._reactor.callLater(0, self._run)

    def _run(self) -> None:
        self._call = None
        self._running = True
        Deferred.fromCoroutine(self._process()).addErrback(
            lambda failure: _log.failure("The controller has failed", failure=failure)
        )

    async def _process(self) -> None:
        while self._queue:
            name, event, done = self._queue.popleft()
            try:
                response = await event()
            except ZooKeeperError as error:
                if error.code is Code.CONTROLLER_MOVED:
                    await self._moved()
                done.errback(error)
            except Exception:  # noqa: BLE001 - Kafka logs it and takes the next event
                _log.failure("The controller event {name} has failed", name=name)
                done.errback(ZooKeeperError(Code.SESSION_EXPIRED))
            else:
                done.callback(response)
        self._running = False
        self._schedule_rest()

    def _schedule_rest(self) -> None:
        if self._queue:
            self._schedule()
