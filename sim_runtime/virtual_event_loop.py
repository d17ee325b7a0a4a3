"""An asyncio event loop on virtual time: an unmodified asyncio program runs on one host of a simulated network.

It has neither a selector nor a thread nor a socket. One call of the virtual reactor is one iteration of the loop, as
BaseEventLoop makes them, so that callbacks run in the order that asyncio gives them. The next iteration is at least a
microsecond later. The world's run methods drive it, and so do its own, and `asyncio.Runner`.
"""

# ruff: noqa: SLF001
# A loop and its handles are one part.

from __future__ import annotations

import asyncio
import math
import sys
import threading
from asyncio import events
from heapq import heappop
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, TypeVarTuple

from twisted.internet.defer import Deferred

from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.errors import SimRuntimeError
from sim_runtime.ordered_sets import OrderedWeakSet
from sim_runtime.virtual_asyncio_transport import connect, listen
from sim_runtime.virtual_names import ANY_ADDRESS, LOOPBACK, address_of, look_up
from sim_runtime.virtual_reactor import CallLimitExceeded

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable
    from contextvars import Context

    from twisted.internet.interfaces import IDelayedCall

    from sim_runtime.interfaces import IReactor
    from sim_runtime.virtual_asyncio_transport import VirtualServer
    from sim_runtime.world import World

__all__ = ["NotOnVirtualTime", "UnhandledInLoop", "VirtualEventLoop"]

_Ts = TypeVarTuple("_Ts")

DEADLINE_MS: Final = 86_400_000.0
"""How much virtual time `run_forever` may take: a program that waits for nothing that comes ends with an error."""
DISCARD_ITERATIONS_MAX: Final = 1_000
"""How many iterations the tasks of a killed program may take to end."""
OPTION: Final = "the loop's deadline_ms"
"""The limit of a program in the error of a deadline."""
_PROGRAM: Final = "the end of an asyncio program"


class NotOnVirtualTime(SimRuntimeError, NotImplementedError):
    """The program uses what has no place in a simulated world: a real socket, a thread, a signal, TLS."""


class UnhandledInLoop(SimRuntimeError):
    """A callback raised, or the error of a task or future was never retrieved."""


class _NoSelector:
    """The selector of a loop whose events come from the reactor."""

    def select(self, timeout: float | None) -> tuple[()]:  # noqa: ARG002 - the signature of selectors
        """Return no event."""
        return ()


class _Numbered:
    """A future whose hash is its number: the order of sets of futures does not depend on addresses."""

    _number: int

    def __new__(cls, *_: Any, loop: VirtualEventLoop, **__: Any) -> Self:
        # Before `__init__`, which puts a task into a set.
        made = super().__new__(cls)
        made._number = loop.next_number()
        return made

    def __hash__(self) -> int:
        return self._number


class _NumberedFuture(_Numbered, asyncio.Future[Any]):
    """A future with a number."""


class _NumberedTask(_Numbered, asyncio.Task[Any]):
    """A task with a number."""


class VirtualEventLoop(asyncio.BaseEventLoop):
    """The event loop of one program on `reactor`, which is that of a host, or of a process on it.

    An error that no handler takes ends the run: set an exception handler to take the contexts instead.
    `time()` is the world's monotonic clock. An executor runs its functions inline, one iteration later.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool
    _thread_id: int | None
    _timer_cancelled_count: int

    def __init__(self, world: World, reactor: IReactor, *, deadline_ms: float = DEADLINE_MS) -> None:
        self._numbers = count(1)
        self._task_numbers = count(1)
        self._unhandled: list[dict[str, Any]] = []
        self._core = world.reactor
        self._network = world.network
        self._run_until = world.run_until
        self._deadline_ms = deadline_ms
        self._wakeup: IDelayedCall | None = None
        self._wakeup_us = 0
        self._iterated_us = -1
        self._busy_iterations = 0
        self._stopped: Deferred[None] | None = None
        self.reactor = reactor
        super().__init__()
        self._selector = _NoSelector()
        self._asyncgens = OrderedWeakSet()
        self._open: dict[asyncio.Transport, None] = {}
        self._servers: dict[VirtualServer, None] = {}
        self.set_task_factory(_make_task)

    # Time

    def time(self) -> float:
        """The monotonic clock of the world, in seconds."""
        return self._core.monotonic()

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call at a time of this loop's clock, never before."""
        handle = super().call_at(when, callback, *args, context=context)
        self._arm()
        return handle

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call in the next iteration."""
        handle = super().call_soon(callback, *args, context=context)
        self._arm()
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call in the next iteration: a simulated world has one thread."""
        return self.call_soon(callback, *args, context=context)

    # Running

    def run_forever(self) -> None:
        """Run the world until `stop`. Raises DeadlineExceeded, and the first error of the run."""
        self._check_closed()
        self._check_running()
        self._stopped = stopped = Deferred[None]()
        try:
            self._run_until(stopped, deadline_ms=self._deadline_ms, awaited=_PROGRAM)
        except DeadlineExceeded as error:
            if error.awaited == _PROGRAM:
                raise DeadlineExceeded(_PROGRAM, self._deadline_ms, OPTION) from None
            raise
        finally:
            self._stopped = None
            self._stopping = False

    def stop(self) -> None:
        """End `run_forever` after this iteration, or after the next one."""
        super().stop()
        self._arm()

    def close(self) -> None:
        """End the program: its connections and servers close as those of a process that ends."""
        if self.is_closed():
            return
        super().close()
        if self._wakeup is not None and self._wakeup.active():
            self._wakeup.cancel()
        for server in list(self._servers):
            server.close()
        for transport in list(self._open):
            transport.close()
            # Nothing reaches a program that has ended; the network would keep its objects alive.
            transport.set_protocol(asyncio.Protocol())

    def discard(self) -> None:
        """End a program that was killed, or whose world has ended: cancel what is left, without time, and close."""
        self.set_exception_handler(lambda _, __: None)
        for _ in range(DISCARD_ITERATIONS_MAX):
            for task in sorted(asyncio.all_tasks(self), key=hash):
                task.cancel()
            if not self._ready:
                break
            self._iterate()
        self.close()

    def _check_closed(self) -> None:
        super()._check_closed()  # type: ignore[misc]  # typeshed has no private names

    def _check_running(self) -> None:
        super()._check_running()  # type: ignore[misc]

    def _arm(self) -> None:
        """Schedule the next iteration."""
        if self._thread_id is not None or self.is_closed():
            return  # the end of the iteration arms
        now_us = self._core.now_us
        # Time moves on between two iterations, as on a real machine: code that waits for the rest of a delay, or for
        # `time() > deadline`, would spin in one instant otherwise.
        earliest_us = max(now_us, self._iterated_us + 1)
        if self._ready or self._stopping or self._unhandled:
            due_us = earliest_us
        else:
            while self._scheduled and self._scheduled[0].cancelled():
                self._timer_cancelled_count -= 1
                heappop(self._scheduled)._scheduled = False  # type: ignore[attr-defined]
            if not self._scheduled:
                return
            due_us = max(earliest_us, self._core.when_monotonic(self._scheduled[0].when()))
        wakeup = self._wakeup
        if wakeup is not None:
            if self._wakeup_us <= due_us:
                return
            wakeup.cancel()
        self._wakeup_us = due_us
        self._wakeup = self.reactor.callLater((due_us - now_us) / 1e6, self._iterate)

    def _iterate(self) -> None:
        self._wakeup = None
        self._count_iteration()
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook)  # type: ignore[attr-defined]
        # Timers whose time has come fire, and none before: not the resolution of a system's clock earlier.
        self._clock_resolution = math.ulp(self.time())
        self._thread_id = threading.get_ident()
        events._set_running_loop(self)
        try:
            self._run_once()  # type: ignore[attr-defined]
        finally:
            events._set_running_loop(None)
            self._thread_id = None
            sys.set_asyncgen_hooks(*hooks)
        unhandled, self._unhandled = self._unhandled, []
        stopping, self._stopping = self._stopping, False
        if not self.is_closed():
            self._arm()
        if stopping and self._stopped is not None:
            self._stopped.callback(None)
        if unhandled:
            context = unhandled[0]
            raise UnhandledInLoop(str(context["message"])) from context.get("exception")

    def _count_iteration(self) -> None:
        now_us = self._core.now_us
        self._busy_iterations = self._busy_iterations + 1 if now_us - self._iterated_us <= 1 else 0
        self._iterated_us = now_us
        limit = self._core.calls_per_instant_limit
        if self._busy_iterations > limit:
            self._busy_iterations = 0
            last = repr(self._ready[0]) if self._ready else "none"
            raise CallLimitExceeded(limit, "calls_per_instant_limit, of iterations without a pause", last)

    def _process_events(self, event_list: object) -> None:
        """The selector has none."""

    # Errors

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Fail the run."""
        if not self.is_closed():
            self._unhandled.append(context)
            self._arm()

    # Tasks and futures

    def next_number(self) -> int:
        """The number of the next task or future."""
        return next(self._numbers)

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future."""
        return _NumberedFuture(loop=self)

    def create_task(self, coro: Any, *, name: object = None, **options: Any) -> asyncio.Task[Any]:
        """Make a task. One without a name gets the next number; asyncio's own counter goes on from run to run."""
        named = f"Task-{next(self._task_numbers)}" if name is None else str(name)
        return super().create_task(coro, name=named, **options)

    # Executors

    def run_in_executor(  # type: ignore[override]  # typeshed types the result by the function
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call the function in the next iteration, in this thread; the executor is not used."""
        del executor
        self._check_closed()
        done = self.create_future()

        def run() -> None:
            if done.cancelled():
                return
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - it is the result
                done.set_exception(error)
            else:
                done.set_result(result)

        self.call_soon(run)
        return done

    # Names

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - the name of the socket module
        proto: int = 0,  # noqa: ARG002 - it is TCP
        flags: int = 0,  # noqa: ARG002 - every name is looked up
    ) -> list[Any]:
        """The one address of a host of the network. Raises socket.gaierror for another name."""
        del type
        return look_up(self._network, host, port, family)

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:  # noqa: ARG002 - no service has a name
        """The address itself."""
        return str(sockaddr[0]), str(sockaddr[1])

    # Connections

    async def create_connection(  # type: ignore[override]  # typeshed has an overload per kind of argument
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int | None = None,
        *,
        ssl: Any = None,
        family: int = 0,
        sock: Any = None,
        local_addr: tuple[str, int] | None = None,
        **_: Any,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Connect to a host of the network. Raises OSError as a real loop does."""
        _refuse_real(ssl=ssl, sock=sock)
        if host is None or port is None:
            raise ValueError("host and port was not specified and no sock specified")
        address = address_of(self._network, host, family)
        address = LOOPBACK if address == ANY_ADDRESS else address
        return await connect(self, protocol_factory, address, int(port), local_addr)

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: Any = None,  # noqa: ARG002 - a host has one interface
        port: int | None = None,
        *,
        ssl: Any = None,
        sock: Any = None,
        start_serving: bool = True,
        **_: Any,
    ) -> VirtualServer:
        """Listen on this host, which has one interface. Raises OSError for a port in use."""
        _refuse_real(ssl=ssl, sock=sock)
        server = listen(self, protocol_factory, port or 0, start_serving=start_serving)
        self._servers[server] = None
        return server

    def opened(self, transport: asyncio.Transport) -> None:
        """A connection is open."""
        self._open[transport] = None

    def closed(self, transport: asyncio.Transport) -> None:
        """A connection is closed."""
        self._open.pop(transport, None)

    def server_closed(self, server: VirtualServer) -> None:
        """A server has closed."""
        self._servers.pop(server, None)

    # What has no place here

    async def start_tls(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse("TLS")

    async def create_datagram_endpoint(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse("UDP")

    async def connect_accepted_socket(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse("a socket of the system")

    async def subprocess_exec(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse("another process")

    async def subprocess_shell(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse("another process")

    def add_signal_handler(self, *_: Any, **__: Any) -> NoReturn:  # type: ignore[override]
        """Refuse."""
        _refuse("a signal handler")


def _make_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> _NumberedTask:
    assert isinstance(loop, VirtualEventLoop), "it is the factory of this loop"
    return _NumberedTask(coroutine, loop=loop, **options)


def _refuse_real(*, ssl: object, sock: object) -> None:
    if ssl:
        _refuse("TLS")
    if sock is not None:
        _refuse("a socket of the system")


def _refuse(what: str) -> NoReturn:
    raise NotOnVirtualTime(f"{what} cannot be simulated: a program on virtual time uses TCP between hosts of its world")
