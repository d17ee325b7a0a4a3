"""A reactor on an asyncio event loop that somebody else runs: time, TCP and names, without a thread of its own.

Twisted's AsyncioSelectorReactor is a whole reactor: it has a thread pool for names, is the process's only one and stops
the loop when it stops. This one is a guest: what it began, `close` ends, and nothing else. The transports are Twisted's
own, on a selector of their own, which the loop watches as one descriptor: a loop on libuv (uvloop) tells nobody that a
watched socket was reset.
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

# How long `close` lets what was written leave.
CLOSE_TIMEOUT_S: Final = 1.0
_FAMILIES: Final = {socket.AF_INET: IPv4Address, socket.AF_INET6: IPv6Address}
_log = Logger()


class LoopCannotWatch(SimRuntimeError):
    """The event loop has no add_reader, or the system no selector that is a descriptor itself: Windows."""


@implementer(IReactorTime, IReactorTCP, IReactorFDSet)
class AsyncioReactor:
    """Use it on the loop's thread alone, but for `callFromThread`."""

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
        """Since the epoch."""
        return float(seconds())

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kw: object) -> IDelayedCall:  # noqa: A002, N802
        """Call once, `delay` seconds from now; what is due at once is called in the order of the asking."""
        if delay < 0:
            raise ValueError(f"callLater({delay}): a delay is never negative")
        call = AsyncioDelayedCall(self.loop, self._calls, callable, args, kw)
        call.start(delay)
        return cast("IDelayedCall", call)

    def getDelayedCalls(self) -> list[IDelayedCall]:  # noqa: N802
        """Those that are still to be made."""
        return cast("list[IDelayedCall]", list(self._calls))

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kw: object) -> None:  # noqa: A002, N802
        """Call soon; from any thread."""
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
        """Connect to an address; who has a name asks `nameResolver` first."""
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
        """Call its doRead when there is something to read."""
        if reader not in self._readers:
            self._readers[reader] = number = reader.fileno()
            self._watch(reader, number)

    def addWriter(self, writer: IWriteDescriptor) -> None:  # noqa: N802
        """Call its doWrite soon, and then when it can be written to: most writes need not wait for that."""
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
        """Watch nothing any more; answers what was watched."""
        watched = list(dict.fromkeys([*self._readers, *self._writers]))
        for one in watched:
            self.removeReader(one)  # type: ignore[arg-type]  # a descriptor of either kind
            self.removeWriter(one)  # type: ignore[arg-type]  # a descriptor of either kind
        return watched

    def getReaders(self) -> list[IReadDescriptor]:  # noqa: N802
        """What is watched for reading."""
        return list(self._readers)

    def getWriters(self) -> list[IWriteDescriptor]:  # noqa: N802
        """What is watched for writing."""
        return list(self._writers)

    # For the one who made it

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Let connections that are closing send what they hold, then end all that is left. The loop goes on."""
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
        """Have the descriptor watched for what it is a reader and a writer of, if anything."""
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
                self._tell_that_nothing_is_left()
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
            # What came before it may have ended it.
            if events & EVENT_READ and key.data in self._readers:
                self._ready(key.data, "read")
            if events & EVENT_WRITE and key.data in self._writers:
                self._ready(key.data, "write")

    def _ready(self, selectable: Any, what: str) -> None:
        """Mirrors what Twisted's own reactors do with a descriptor that is ready."""
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

    def _tell_that_nothing_is_left(self) -> None:
        waiting = self._nothing_left
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


@implementer(IHostResolution)
class _Resolution:
    """A name that is being resolved."""

    def __init__(self, name: str, asked: asyncio.Future[Any]) -> None:
        self.name = name
        self._asked = asked

    def cancel(self) -> None:
        """The receiver hears no more of it."""
        self._asked.cancel()


@implementer(IHostnameResolver)
class _LoopResolver:
    """By the loop's getaddrinfo: in its default executor, as for every program on asyncio."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asking: dict[asyncio.Future[Any], None] = {}

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: object = None,  # noqa: ARG002, N803 - all
        transportSemantics: str = "TCP",  # noqa: ARG002, N803 - it is always TCP here
    ) -> IHostResolution:
        """Tell the receiver every address; none when there is none."""
        asked = asyncio.ensure_future(self._loop.getaddrinfo(hostName, portNumber, type=socket.SOCK_STREAM))
        self._asking[asked] = None
        resolution = cast("IHostResolution", _Resolution(hostName, asked))
        resolutionReceiver.resolutionBegan(resolution)

        def answered(_: asyncio.Future[Any]) -> None:
            del self._asking[asked]
            if asked.cancelled():
                return
            error = asked.exception()
            if error is not None and not isinstance(error, (OSError, UnicodeError)):
                _log.failure("the name {name} could not be asked for", Failure(error), name=hostName)
            for family, _type, _protocol, _name, address in [] if error is not None else asked.result():
                if family in _FAMILIES:
                    resolutionReceiver.addressResolved(_FAMILIES[family]("TCP", *address))
            resolutionReceiver.resolutionComplete()

        asked.add_done_callback(answered)
        return resolution
