"""Virtual time: a reactor whose clock jumps from one due time to the next. As Kafka's MockTime and MockTimer.

Calls run in the order of (due, sequence), one at a time, each at its own due time. Time is whole microseconds inside.
"""

# ruff: noqa: A002, N802, N803, SLF001
# The names are those of Twisted's interfaces; a call and its reactor are one part.

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.error import AlreadyCalled, AlreadyCancelled
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure
from zope.interface import implementer

from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.errors import SimRuntimeError
from sim_runtime.interfaces import IReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from twisted.internet.interfaces import IConnector, IListeningPort, IReactorTCP
    from twisted.internet.protocol import ClientFactory, ServerFactory

__all__ = ["CallLimitExceeded", "VirtualCall", "VirtualReactor"]

T = TypeVar("T")

START_SECONDS: Final = 1_767_225_600  # 2026-01-01T00:00:00Z
CALLS_PER_INSTANT_LIMIT: Final = 1_000_000
DEADLINE_MS: Final = 60_000
MONOTONIC_START_US: Final = 1_000_000_000
"""The monotonic clock at the start: small, so that a float shows microseconds, and far from the epoch's seconds."""
_STALE_ENTRIES_MIN: Final = 512
_FOREVER: Final = 1 << 62
_NOT_QUEUED: Final = -1


class CallLimitExceeded(SimRuntimeError):
    """The number of calls exceeds a limit: time does not advance, or the run never becomes idle."""

    def __init__(self, calls: int, limit_name: str, last_call: str) -> None:
        super().__init__(calls, limit_name, last_call)
        self.calls = calls
        self.limit_name = limit_name
        self.last_call = last_call

    def __str__(self) -> str:
        return f"{self.calls} calls ran, which is the limit {self.limit_name}; the last was {self.last_call}"


class Process(Protocol):
    """A process that can be stopped, as by SIGSTOP."""

    is_stopped: bool

    def keep(self, call: VirtualCall) -> None:
        """Keep a call that is due while the process is stopped."""


@implementer(IDelayedCall)
class VirtualCall:
    """A call that a VirtualReactor will make. `due_us` and `sequence` give its place in the order of all calls."""

    __slots__ = ("_arguments", "_function", "_keywords", "_queued", "_reactor", "due_us", "sequence")

    process: ClassVar[Process | None] = None
    """The process whose calls these are, one class for each: a stopped process makes no calls."""

    def __init__(
        self,
        reactor: VirtualReactor,
        due_us: int,
        sequence: int,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        keywords: dict[str, object] | None,
    ) -> None:
        self._reactor = reactor
        self.due_us = due_us
        self.sequence = sequence
        # The sequence of the heap's entry for this call. An entry with another number is stale.
        self._queued = sequence
        self._function: Callable[..., object] | None = function
        self._arguments = arguments
        self._keywords = keywords

    def getTime(self) -> float:
        """The due time, in seconds since the epoch."""
        return self.due_us / 1e6

    def active(self) -> bool:
        """True if the call is pending."""
        return self._function is not None

    def cancel(self) -> None:
        """Cancel the call. Raises AlreadyCancelled or AlreadyCalled."""
        self._check_active()
        self._function = None
        self._arguments = ()
        self._keywords = None
        self._queued = _NOT_QUEUED
        self._reactor._entry_got_stale()

    def reset(self, secondsFromNow: float) -> None:
        """Reschedule the call to `secondsFromNow`, after all other calls of that due time."""
        if self._function is None:
            self._check_active()
        self._move(self._reactor.now_us + _microseconds(secondsFromNow))

    def delay(self, secondsLater: float) -> None:
        """Postpone the call by `secondsLater`, which may be negative, but not into the past."""
        self._check_active()
        moved_us = _microseconds(secondsLater) if secondsLater >= 0 else -_microseconds(-secondsLater)
        self._move(max(self._reactor.now_us, self.due_us + moved_us))

    def __repr__(self) -> str:
        state = "due at" if self.active() else "done or cancelled, was due at"
        return f"<VirtualCall {state} {self.getTime():.6f}: {_name(self._function)}>"

    def _move(self, due_us: int) -> None:
        reactor = self._reactor
        self.sequence = sequence = reactor._sequence = reactor._sequence + 1
        sooner = due_us < self.due_us
        self.due_us = due_us
        if sooner:
            self._queued = sequence
            heappush(reactor._heap, (due_us, sequence, self))
            reactor._entry_got_stale()
        # Otherwise the entry stays where it is; when it comes up, the call is put in its new place.

    def _check_active(self) -> None:
        if self._function is None:
            raise AlreadyCancelled if self._queued == _NOT_QUEUED else AlreadyCalled


@implementer(IReactor)
class VirtualReactor:
    """IReactorTime on virtual time; IReactorTCP by the network that a VirtualNetwork attaches to it.

    An exception in a call is kept in `errors` and raised by the run method at once; the next run continues after it.
    """

    __slots__ = (
        "_heap",
        "_instant_began_at",
        "_interrupted",
        "_running",
        "_sequence",
        "_stale",
        "_start_us",
        "_tcp",
        "calls_made",
        "calls_per_instant_limit",
        "errors",
        "now_us",
    )

    def __init__(self, start_seconds: int = START_SECONDS) -> None:
        self.now_us = self._start_us = start_seconds * 1_000_000
        self.errors: list[BaseException] = []
        self.calls_made = 0
        self.calls_per_instant_limit = CALLS_PER_INSTANT_LIMIT
        self._heap: list[tuple[int, int, VirtualCall]] = []
        self._sequence = 0
        self._stale = 0
        self._instant_began_at = 0
        self._interrupted = False
        self._running = False
        self._tcp: IReactorTCP | None = None

    @property
    def calls_scheduled(self) -> int:
        """The number of scheduled calls so far."""
        return self._sequence

    def seconds(self) -> float:
        """Virtual time, in seconds since the epoch."""
        return self.now_us / 1e6

    def monotonic(self, later_us: int = 0) -> float:
        """The monotonic clock of all programs, in seconds: now, or in `later_us` microseconds."""
        return (self.now_us + later_us - self._start_us + MONOTONIC_START_US) / 1e6

    def when_monotonic(self, when: float) -> int:
        """The first point in virtual time, in microseconds, at which the monotonic clock shows `when` or more."""
        due_us = self._start_us - MONOTONIC_START_US + math.floor(when * 1e6) - 1
        while self.monotonic(due_us - self.now_us) < when:  # the product is rounded: it may be one off either way
            due_us += 1
        return due_us

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kwargs: object) -> VirtualCall:
        """Call in `delay` seconds, rounded to whole microseconds, but never to 0 for a delay above 0."""
        return self.schedule(VirtualCall, delay, callable, args, kwargs or None)

    def schedule(
        self,
        make_call: type[VirtualCall],
        delay: float,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        keywords: dict[str, object] | None,
    ) -> VirtualCall:
        """Do the same with a call of a process."""
        delay_us = int(delay * 1e6 + 0.5)
        if delay_us < 1:
            delay_us = _microseconds(delay)
        due_us = self.now_us + delay_us
        self._sequence = sequence = self._sequence + 1
        call = make_call(self, due_us, sequence, function, arguments, keywords)
        heappush(self._heap, (due_us, sequence, call))
        return call

    def call_at_us(self, due_us: int, function: Callable[..., object], *arguments: object) -> VirtualCall:
        """Call at a point in virtual time that is not in the past; for the network, which counts in microseconds."""
        self._sequence = sequence = self._sequence + 1
        call = VirtualCall(self, due_us, sequence, function, arguments, None)
        heappush(self._heap, (due_us, sequence, call))
        return call

    def getDelayedCalls(self) -> Sequence[VirtualCall]:
        """The pending calls, in their order."""
        calls = [call for _, sequence, call in self._heap if call._queued == sequence]
        return sorted(calls, key=lambda call: (call.due_us, call.sequence))

    def run_for(self, *, ms: float) -> None:
        """Make every call that is due within the next `ms`, its end included, and advance time to the end."""
        until_us = self.now_us + _microseconds(ms / 1000)
        self._run(until_us)
        self.now_us = until_us

    def run_until(
        self,
        condition: Deferred[T] | Coroutine[Deferred[Any], Any, T] | Callable[[], T],
        *,
        deadline_ms: float = DEADLINE_MS,
        awaited: str | None = None,
    ) -> T:
        """Run until a Deferred or coroutine has its result, or until a function without arguments returns a true value.

        Returns the result, or raises the failure. Raises DeadlineExceeded at the deadline.
        """
        until_us = self.now_us + _microseconds(deadline_ms / 1000)
        described = awaited or _describe(condition)
        if callable(condition):
            return self._run_until_true(condition, until_us, described, deadline_ms)
        deferred = condition if isinstance(condition, Deferred) else Deferred.fromCoroutine(condition)
        results: list[T | Failure] = []

        def settle(result: T | Failure) -> None:
            results.append(result)
            self._interrupted = True

        deferred.addBoth(settle)
        if not results:
            self._run(until_us)
        if not results:
            self.now_us = until_us
            raise DeadlineExceeded(described, deadline_ms, "run_until(deadline_ms=...)")
        result = results[0]
        if isinstance(result, Failure):
            result.raiseException()
        return result

    def run_until_idle(self, *, limit: int = CALLS_PER_INSTANT_LIMIT) -> None:
        """Run until no call is scheduled; raises CallLimitExceeded after `limit` calls."""
        for _ in range(limit):
            if not self.step():
                return
        waiting = self.getDelayedCalls()
        if waiting:
            raise CallLimitExceeded(limit, "run_until_idle(limit=...)", f"followed by {waiting[0]!r}")

    def step(self) -> bool:
        """Make the next call, at its time; False when none is scheduled."""
        made = self.calls_made
        self._run(_FOREVER, single=True)
        return self.calls_made != made

    def make_due(self, call: VirtualCall) -> None:
        """Queue a call that a stopped process has kept, unless it was cancelled: it is due now."""
        if call._function is not None:
            call.due_us = self.now_us
            call.sequence = call._queued = self._next_sequence()
            heappush(self._heap, (call.due_us, call.sequence, call))

    def attach_tcp(self, tcp: IReactorTCP) -> None:
        """Use `tcp` for this reactor's own listenTCP and connectTCP."""
        self._tcp = tcp

    def listenTCP(
        self, port: int, factory: ServerFactory[Any], backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        """Listen on the host `localhost` of the attached network."""
        return self._attached().listenTCP(port, factory, backlog, interface)

    def connectTCP(
        self,
        host: str,
        port: int,
        factory: ClientFactory[Any],
        timeout: float = 30.0,
        bindAddress: tuple[str, int] | None = None,
    ) -> IConnector:
        """Connect from the host `localhost` of the attached network."""
        return self._attached().connectTCP(host, port, factory, timeout, bindAddress)

    def _attached(self) -> IReactorTCP:
        if self._tcp is None:
            raise RuntimeError("this VirtualReactor has no network: make a VirtualNetwork(reactor, streams) first")
        return self._tcp

    def _run_until_true(self, predicate: Callable[[], T], until_us: int, awaited: str, deadline_ms: float) -> T:
        result = predicate()
        while not result:
            made = self.calls_made
            self._run(until_us, single=True)
            if self.calls_made == made:
                self.now_us = until_us
                raise DeadlineExceeded(awaited, deadline_ms, "run_until(deadline_ms=...)")
            result = predicate()
        return result

    def _run(self, until_us: int, *, single: bool = False) -> None:
        """Make the calls due up to `until_us`, or one call only; time stays at the last call made."""
        if self._running:
            raise RuntimeError("a VirtualReactor runs already: run methods are for the outside, not for a call")
        heap = self._heap
        self._running = True
        self._interrupted = single
        try:
            while heap:
                due_us, sequence, call = heap[0]
                if due_us > until_us:
                    break
                heappop(heap)
                if call._queued != sequence:
                    self._stale -= 1
                elif call.sequence != sequence:
                    call._queued = call.sequence
                    heappush(heap, (call.due_us, call.sequence, call))
                elif call.process is not None and call.process.is_stopped:
                    call.process.keep(call)
                else:
                    if due_us != self.now_us:
                        self.now_us = due_us
                        self._instant_began_at = self.calls_made
                    elif self.calls_made - self._instant_began_at >= self.calls_per_instant_limit:
                        heappush(heap, (due_us, sequence, call))
                        self._refuse_to_spin(call)
                    self.calls_made += 1
                    # In place, as the most frequent step of a run: a call of its own would be a third of it.
                    function = call._function
                    call._function = None
                    if call._keywords is None:
                        function(*call._arguments)  # type: ignore[misc]  # it is active
                    else:
                        function(*call._arguments, **call._keywords)  # type: ignore[misc]
                    if self._interrupted:
                        break
        except Exception as error:
            self.errors.append(error)
            error.add_note(f"in a call of the virtual reactor at {self.now_us / 1e6:.6f}")
            raise
        finally:
            self._running = False

    def _refuse_to_spin(self, call: VirtualCall) -> None:
        self._instant_began_at = self.calls_made
        raise CallLimitExceeded(self.calls_per_instant_limit, "calls_per_instant_limit", _name(call._function))

    def _next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence

    def _entry_got_stale(self) -> None:
        self._stale += 1
        if self._stale >= _STALE_ENTRIES_MIN and self._stale * 2 > len(self._heap):
            # In place: _run holds the same list.
            self._heap[:] = [entry for entry in self._heap if entry[2]._queued == entry[1]]
            heapify(self._heap)
            self._stale = 0


def _microseconds(seconds: float) -> int:
    if not 0 <= seconds < math.inf:
        raise ValueError(f"a delay is at least 0 and finite, not {seconds!r} s")
    # A delay above 0 never becomes 0: code that computes its delay from a due time would spin in one instant.
    return max(1, int(seconds * 1e6 + 0.5)) if seconds else 0


def _name(function: object) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _describe(condition: object) -> str:
    if isinstance(condition, Deferred):
        return "a Deferred"
    return _name(condition)
