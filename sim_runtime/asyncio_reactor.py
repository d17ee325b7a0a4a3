"""A reactor on the caller's asyncio event loop: time, TCP and name resolution, without a thread of its own.

Twisted's AsyncioSelectorReactor is a whole reactor: it has a thread pool for names, is the process's only one and stops
the loop when it stops. This one uses a loop of the caller: `close` ends its own connections and timers alone. The
transports are Twisted's own, on a selector of their own, which the loop watches as one descriptor: a loop on libuv
(uvloop) does not report the reset of a watched socket.
"""

from __future__ import annotations

import asyncio
import socket
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Any, Final, cast

from twisted.internet import tcp
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import ConnectionDone, ConnectionFdescWentAway, ConnectionLost
from twisted.internet.interfaces import (
    IHalfCloseableDescriptor,
    IHostnameResolver,
    IHostResolution,
    IReactorFDSet,
    IReactorTCP,
    IReactorTime,
)
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.runtime import seconds
from zope.interface import implementer

from sim_runtime.asyncio_calls import AsyncioDelayedCall
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import (
        IConnector,
        IDelayedCall,
        IListeningPort,
        IReadDescriptor,
        IResolutionReceiver,
        IWriteDescriptor,
    )
    from twisted.internet.protocol import ClientFactory, ServerFactory

__all__ = ["AsyncioReactor", "LoopCannotWatch"]

# The time that `close` gives buffered bytes to leave.
CLOSE_TIMEOUT_S: Final = 1.0
_FAMILIES: Final = {socket.AF_INET: IPv4Address, socket.AF_INET6: IPv6Address}
_log = Logger()


class LoopCannotWatch(SimRuntimeError):
    """The event loop has no add_reader, or the system has no selector with a descriptor, as on Windows."""


@implementer(IReactorTime, IReactorTCP, IReactorFDSet)
class AsyncioReactor:
    """All methods but `callFromThread` belong to the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        if type(loop).add_reader is asyncio.AbstractEventLoop.add_reader or not hasattr(DefaultSelector, "fileno"):
            name = type(loop).__name__
            raise LoopCannotWatch(
                f"{name} cannot watch sockets here: run on a SelectorEventLoop or uvloop, not on Windows"
            )
        self.loop = loop
        self.nameResolver: IHostnameResolver = _LoopResolver(loop)
        self._readers: dict[IReadDescriptor, int] = {}
        self._writers: dict[IWriteDescriptor, int] = {}
        self._untried: dict[IWriteDescriptor, None] = {}  # writers that are not watched yet
        self._calls: dict[AsyncioDelayedCall, None] = {}
        self._selector: Any = None  # epoll's or kqueue's: those have a descriptor
        self._nothing_left: asyncio.Future[None] | None = None

    # IReactorTime

    def seconds(self) -> float:
        """The time in seconds since the epoch."""
        return float(seconds())

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kw: object) -> IDelayedCall:  # noqa: A002, N802
        """Call once, `delay` seconds from now; calls that are due at once keep the order of scheduling."""
        if delay < 0:
            raise ValueError(f"callLater({delay}): a delay is never negative")
        call = AsyncioDelayedCall(self.loop, self._calls, callable, args, kw)
        call.start(delay)
        return cast("IDelayedCall", call)

    def getDelayedCalls(self) -> list[IDelayedCall]:  # noqa: N802
        """The pending calls."""
        return cast("list[IDelayedCall]", list(self._calls))

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kw: object) -> None:  # noqa: A002, N802
        """Schedule a call from any thread."""
        self.loop.call_soon_threadsafe(lambda: callable(*args, **kw))

    # IReactorTCP

    def connectTCP(  # noqa: N802
        self,
        host: str,
        port: int,
        factory: ClientFactory[Any],
        timeout: float = 30.0,
        bindAddress: tuple[str, int] | None = None,  # noqa: N803
    ) -> IConnector:
        """Connect to an address; the caller resolves names with `nameResolver`."""
        connector = tcp.Connector(host, port, factory, timeout, bindAddress, self)
        connector.connect()
        return cast("IConnector", connector)

    def listenTCP(self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = "") -> IListeningPort:  # noqa: N802
        """Accept connections."""
        listening = tcp.Port(port, factory, backlog, interface, self)
        listening.startListening()
        return cast("IListeningPort", listening)

    # IReactorFDSet

    def addReader(self, reader: IReadDescriptor) -> None:  # noqa: N802
        """Call its doRead when the descriptor is readable."""
        if reader not in self._readers:
            self._readers[reader] = number = reader.fileno()
            self._watch(reader, number)

    def addWriter(self, writer: IWriteDescriptor) -> None:  # noqa: N802
        """Call its doWrite soon, and then whenever the descriptor is writable: most writes succeed at once."""
        if writer not in self._writers:
            self._writers[writer] = writer.fileno()
            if not self._untried:
                self.loop.call_soon(self._try_to_write)
            self._untried[writer] = None

    def removeReader(self, reader: IReadDescriptor) -> None:  # noqa: N802
        """Watch it no more."""
        number = self._readers.pop(reader, None)
        if number is not None:
            self._watch(reader, number)

    def removeWriter(self, writer: IWriteDescriptor) -> None:  # noqa: N802
        """Watch it no more."""
        number = self._writers.pop(writer, None)
        self._untried.pop(writer, None)
        if number is not None:
            self._watch(writer, number)

    def removeAll(self) -> list[Any]:  # noqa: N802
        """Watch nothing any more; return the watched descriptors."""
        watched = list(dict.fromkeys([*self._readers, *self._writers]))
        for one in watched:
            self.removeReader(one)  # type: ignore[arg-type]  # a descriptor of either kind
            self.removeWriter(one)  # type: ignore[arg-type]  # a descriptor of either kind
        return watched

    def getReaders(self) -> list[IReadDescriptor]:  # noqa: N802
        """The descriptors that are watched for reading."""
        return list(self._readers)

    def getWriters(self) -> list[IWriteDescriptor]:  # noqa: N802
        """The descriptors that are watched for writing."""
        return list(self._writers)

    # For the owner

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Let closing connections send their buffers, then end all that are left. The loop keeps running."""
        if self._readers or self._writers:
            if self._nothing_left is None:
                self._nothing_left = self.loop.create_future()
            await asyncio.wait((self._nothing_left,), timeout=timeout_s)
            self._nothing_left = None
        self.end()

    def end(self) -> None:
        """End all connections and timers at once."""
        for call in list(self._calls):
            call.cancel()
        for selectable in self.removeAll():
            selectable.connectionLost(Failure(ConnectionLost()))
        selector, self._selector = self._selector, None
        if selector is not None:
            self.loop.remove_reader(selector.fileno())
            selector.close()

    # Details

    def _watch(self, selectable: Any, number: int) -> None:
        """Watch the descriptor for the events of its reader and writer, if any."""
        events = EVENT_READ if selectable in self._readers else 0
        if selectable in self._writers and selectable not in self._untried:
            events |= EVENT_WRITE
        selector = self._selector
        if selector is None:
            selector = self._selector = DefaultSelector()
            self.loop.add_reader(selector.fileno(), self._poll)
        watched = number in selector.get_map()
        if not events:
            if watched:
                selector.unregister(number)
            if not selector.get_map():
                self._report_all_closed()
        elif watched:
            selector.modify(number, events, selectable)
        else:
            selector.register(number, events, selectable)

    def _try_to_write(self) -> None:
        untried, self._untried = self._untried, {}
        for writer in untried:
            if writer in self._writers:
                self._ready(writer, "write")
            number = self._writers.get(writer)
            if number is not None and writer not in self._untried:
                self._watch(writer, number)

    def _poll(self) -> None:
        if self._selector is None:
            return
        for key, events in self._selector.select(0):
            # An earlier event may have ended the connection.
            if events & EVENT_READ and key.data in self._readers:
                self._ready(key.data, "read")
            if events & EVENT_WRITE and key.data in self._writers:
                self._ready(key.data, "write")

    def _ready(self, selectable: Any, what: str) -> None:
        """Mirrors Twisted's own reactors for a ready descriptor."""
        if selectable.fileno() == -1:
            why: BaseException | None = ConnectionFdescWentAway("the descriptor lost its number")
        else:
            try:
                why = selectable.doRead() if what == "read" else selectable.doWrite()
            except Exception as error:  # noqa: BLE001 - one connection's error must not end the others
                _log.failure("a connection raised, and is ended")
                why = error
        if why is None:
            return
        self.removeReader(selectable)
        if what == "read" and isinstance(why, ConnectionDone) and IHalfCloseableDescriptor.providedBy(selectable):
            selectable.readConnectionLost(Failure(why))
            return
        self.removeWriter(selectable)
        selectable.connectionLost(Failure(why))

    def _report_all_closed(self) -> None:
        waiting = self._nothing_left
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


@implementer(IHostResolution)
class _Resolution:
    """A name that is being resolved."""

    def __init__(self, name: str, resolving: asyncio.Future[Any]) -> None:
        self.name = name
        self._resolving = resolving

    def cancel(self) -> None:
        """Cancel the resolution: the receiver is not notified any more."""
        self._resolving.cancel()


@implementer(IHostnameResolver)
class _LoopResolver:
    """Resolves names with the loop's getaddrinfo, in its default executor, as every program on asyncio."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending: dict[asyncio.Future[Any], None] = {}

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: object = None,  # noqa: ARG002, N803 - all
        transportSemantics: str = "TCP",  # noqa: ARG002, N803 - it is always TCP here
    ) -> IHostResolution:
        """Report every address to the receiver; none if there is none."""
        resolving = asyncio.ensure_future(self._loop.getaddrinfo(hostName, portNumber, type=socket.SOCK_STREAM))
        self._pending[resolving] = None
        resolution = cast("IHostResolution", _Resolution(hostName, resolving))
        resolutionReceiver.resolutionBegan(resolution)

        def resolved(_: asyncio.Future[Any]) -> None:
            del self._pending[resolving]
            if resolving.cancelled():
                return
            error = resolving.exception()
            if error is not None and not isinstance(error, (OSError, UnicodeError)):
                _log.failure("the name {name} could not be resolved", Failure(error), name=hostName)
            for family, _type, _protocol, _name, address in [] if error is not None else resolving.result():
                if family in _FAMILIES:
                    resolutionReceiver.addressResolved(_FAMILIES[family]("TCP", *address))
            resolutionReceiver.resolutionComplete()

        resolving.add_done_callback(resolved)
        return resolution
