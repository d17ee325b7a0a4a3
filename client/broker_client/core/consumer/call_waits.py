"""How the calls of a consumer wait: for a result, for any event, or for time, each until a deadline or a wake-up.

Mirrors ConsumerNetworkClient.poll with its Timer and wakeups. The network continues on its own; a wait only suspends
the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_client.consumer_errors import WakeupError
from broker_client.core.producer.sender_loop import now_ms_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from twisted.python.failure import Failure

    from broker_client.core.network.client_core import ClientCore
    from sim_runtime.interfaces import IReactor

__all__ = ["CallTimer", "CallWaits", "PendingResult", "failure_of"]

WAIT_MAX_MS: Final = 86_400_000


async def failure_of(step: Awaitable[object]) -> Exception | None:
    """Await a step of a call that goes on after a failure, and return the failure.

    Not `finally`: a call that is given up while it waits (GeneratorExit) must not wait again.
    """
    try:
        await step
    except Exception as error:  # noqa: BLE001 - the caller raises it at the end
        return error
    return None


class CallTimer:
    """The deadline of one call. Mirrors Timer."""

    __slots__ = ("_reactor", "deadline_ms", "timeout_ms")

    def __init__(self, reactor: IReactor, timeout_ms: int) -> None:
        self._reactor = reactor
        self.timeout_ms = timeout_ms
        self.deadline_ms = now_ms_of(reactor) + timeout_ms

    @property
    def left_ms(self) -> int:
        """The milliseconds left, at least 0."""
        return max(self.deadline_ms - now_ms_of(self._reactor), 0)

    @property
    def is_expired(self) -> bool:
        """True if the time is over."""
        return self.left_ms == 0

    def at_most(self, timeout_ms: int) -> CallTimer:
        """A timer that expires with this one, at the latest after `timeout_ms`."""
        return CallTimer(self._reactor, min(self.left_ms, timeout_ms))


class CallWaits:
    """Call everything but `wakeup` on the reactor's thread; one call waits at a time, except within callbacks."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core
        self._waiting: list[Deferred[None]] = []
        self._wakeup_requested = False
        self.wakeups_disabled = False

    def timer(self, timeout_ms: int) -> CallTimer:
        """Start the timer of a call."""
        return CallTimer(self._core.reactor, timeout_ms)

    def wakeup(self) -> None:
        """End the current call, or the next one, with WakeupError."""
        self._wakeup_requested = True
        self.notify()

    def check_wakeup(self) -> None:
        """Raise WakeupError once after a wake-up."""
        if self._wakeup_requested and not self.wakeups_disabled:
            self._wakeup_requested = False
            raise WakeupError

    def notify(self, _: object = None) -> None:
        """Let waiting calls check their conditions again."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    async def event(self, limit_ms: int) -> None:
        """Wait for `notify`, newer metadata or a wake-up, at most `limit_ms`.

        Raises:
            WakeupError: `wakeup` was called.
        """
        self.check_wakeup()
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        timer = self._core.reactor.callLater(min(max(limit_ms, 1), WAIT_MAX_MS) / 1000, self.notify)
        self._core.metadata.on_change(self.notify)
        if self._core.metadata.update_requested:
            self._core.wakeup()
        try:
            await waiting
        finally:
            if timer.active():
                timer.cancel()
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            self._core.metadata.forget(self.notify)
        self.check_wakeup()

    async def until(self, done: Callable[[], bool], timer: CallTimer) -> bool:
        """Wait until `done` returns True; return False when the time is over.

        Raises:
            WakeupError: `wakeup` was called.
        """
        while not done():
            left_ms = timer.left_ms
            if left_ms == 0:
                return False
            await self.event(left_ms)
        return True

    async def sleep(self, duration_ms: int, timer: CallTimer) -> None:
        """Wait for a duration, at most until the timer expires.

        Raises:
            WakeupError: `wakeup` was called.
        """
        await self.until(lambda: False, timer.at_most(duration_ms))

    async def fresh_metadata(self, timer: CallTimer) -> bool:
        """Wait until no update of the metadata is requested or due; return False when the time is over.

        Mirrors ConsumerNetworkClient.ensureFreshMetadata.
        """
        metadata = self._core.metadata
        if not metadata.update_requested and metadata.time_to_next_update_ms(now_ms_of(self._core.reactor)) > 0:
            return True
        self._core.wakeup()
        return await self.until(lambda: not metadata.update_requested and not metadata.cluster.is_bootstrap, timer)

    async def metadata_update(self, timer: CallTimer) -> bool:
        """Request an update of the metadata and wait for it; return False when the time is over."""
        metadata = self._core.metadata
        version = metadata.request_update()
        return await self.until(lambda: metadata.update_version > version, timer)


class PendingResult:
    """A request that several calls may wait for. Mirrors RequestFuture."""

    __slots__ = ("_followers", "error", "is_done", "value")

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.error: BaseException | None = None
        self._followers: list[Deferred[Any]] = []

    @classmethod
    def of(cls, deferred: Deferred[Any], waits: CallWaits) -> PendingResult:
        """Follow a Deferred; waiting calls are notified when it fires."""
        pending = cls()

        def failed(failure: Failure) -> None:
            pending.error = failure.value
            pending._end()
            waits.notify()

        def succeeded(value: Any) -> None:
            pending.value = value
            pending._end()
            waits.notify()

        deferred.addCallbacks(succeeded, failed)
        return pending

    def as_deferred(self) -> Deferred[Any]:
        """A new Deferred with the same result."""
        follower: Deferred[Any] = Deferred()
        self._followers.append(follower)
        if self.is_done:
            self._end()
        return follower

    def _end(self) -> None:
        self.is_done = True
        followers, self._followers = self._followers, []
        for one in followers:
            if self.error is None:
                one.callback(self.value)
            else:
                one.errback(self.error)
