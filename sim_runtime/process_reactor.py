"""The reactor of one program that can crash or freeze, on virtual time or on real sockets.

It passes everything on to the reactor below it and remembers the timers and connections of the program. A crash is that
of SIGKILL: no timer fires again, and the kernel resets the connections. A pause is that of SIGSTOP: nothing runs, bytes
that arrive wait, and what was due meanwhile runs at the resumption, in order.
"""

# ruff: noqa: A002, N802, N803
# The names are those of Twisted's interfaces.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.error import AlreadyCalled, AlreadyCancelled
from twisted.internet.interfaces import IDelayedCall, IReactorPluggableNameResolver
from twisted.internet.protocol import ClientFactory, Protocol
from zope.interface import implementer

from sim_runtime.interfaces import IReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IAddress, IConnector, IHostnameResolver, IListeningPort, IProtocol
    from twisted.internet.protocol import ServerFactory
    from twisted.python.failure import Failure

__all__ = ["ProcessReactor"]


@implementer(IReactor, IReactorPluggableNameResolver)
class ProcessReactor:
    """The reactor of one program on the reactor `below`."""

    def __init__(self, below: IReactor) -> None:
        self._below = below
        self.seconds: Final = below.seconds
        """The time of the reactor below."""
        self._calls: dict[_Call, None] = {}
        self._connections: dict[_Connection, None] = {}
        self._waiting: list[Callable[[], object]] = []
        self.is_crashed = False
        self.is_paused = False

    @property
    def nameResolver(self) -> IHostnameResolver:
        """The name resolver of the reactor below."""
        resolver: IHostnameResolver = self._below.nameResolver  # type: ignore[attr-defined]
        return resolver

    def installNameResolver(self, resolver: IHostnameResolver) -> IHostnameResolver:
        """Replace the name resolver of the reactor below; return the previous one."""
        previous: IHostnameResolver = self._below.installNameResolver(resolver)  # type: ignore[attr-defined]
        return previous

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kwargs: object) -> IDelayedCall:
        """Call later, unless the program has crashed by then."""
        call = _Call(self, callable, args, kwargs)
        if not self.is_crashed:
            self._calls[call] = None
            call.begin(self._below.callLater(delay, call.due))
        return call

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        """The pending calls of the program."""
        return list(self._calls)

    def connectTCP(
        self,
        host: str,
        port: int,
        factory: ClientFactory[Any],
        timeout: float = 30.0,
        bindAddress: tuple[str, int] | None = None,
    ) -> IConnector:
        """Connect as the reactor below."""
        return self._below.connectTCP(host, port, _Factory(self, factory), timeout, bindAddress)

    def listenTCP(
        self, port: int, factory: ServerFactory[Any], backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        """Listen as the reactor below: a program that listens is not expected to crash here."""
        return self._below.listenTCP(port, factory, backlog, interface)

    def crash(self) -> None:
        """End the program at once: its timers are gone and its connections reset. A second crash has no effect."""
        if self.is_crashed:
            return
        self.is_crashed = True
        self._waiting.clear()
        for call in list(self._calls):
            call.cancel()
        for connection in list(self._connections):
            connection.abort()

    def pause(self) -> None:
        """Freeze the program until `resume`."""
        if self.is_paused or self.is_crashed:
            return
        self.is_paused = True

    def resume(self) -> None:
        """Let the program go on; what was due meanwhile runs first, in order."""
        if not self.is_paused:
            return
        self.is_paused = False
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self._below.callLater(0, call)

    def run(self, call: Callable[[], object]) -> None:
        """Run a part of the program now, at the resumption while it is frozen, never after its crash."""
        if self.is_crashed:
            return
        if self.is_paused:
            self._waiting.append(lambda: self.run(call))
        else:
            call()

    # Called by the program's timers and connections

    def forget_call(self, call: _Call) -> None:
        """A timer has fired or is cancelled."""
        self._calls.pop(call, None)

    def add(self, connection: _Connection) -> None:
        """A connection is open."""
        self._connections[connection] = None

    def discard(self, connection: _Connection) -> None:
        """A connection is closed."""
        self._connections.pop(connection, None)


@implementer(IDelayedCall)
class _Call:
    """A timer of the program."""

    __slots__ = ("_arguments", "_below", "_ended", "_function", "_keywords", "_process")

    def __init__(
        self, process: ProcessReactor, function: Callable[..., Any], arguments: Any, keywords: dict[str, Any]
    ) -> None:
        self._process = process
        self._function = function
        self._arguments = arguments
        self._keywords = keywords
        self._below: IDelayedCall | None = None
        self._ended: type[AlreadyCalled | AlreadyCancelled] | None = None

    def begin(self, below: IDelayedCall) -> None:
        self._below = below

    def due(self) -> None:
        process = self._process
        if process.is_paused or process.is_crashed:
            process.run(self._fire)
        else:
            self._fire()

    def _fire(self) -> None:
        if self._ended is None:
            self._ended = AlreadyCalled
            self._process.forget_call(self)
            self._function(*self._arguments, **self._keywords)

    def active(self) -> bool:
        return self._ended is None

    def cancel(self) -> None:
        self._check()
        self._ended = AlreadyCancelled
        self._process.forget_call(self)
        if self._below is not None and self._below.active():
            self._below.cancel()

    def getTime(self) -> float:
        return 0.0 if self._below is None else self._below.getTime()

    def delay(self, secondsLater: float) -> None:
        self._check()
        if self._below is not None and self._below.active():
            self._below.delay(secondsLater)

    def reset(self, secondsFromNow: float) -> None:
        if self._ended is not None:
            self._check()
        if self._below is not None and self._below.active():
            self._below.reset(secondsFromNow)

    def _check(self) -> None:
        # A crash may come while code of the program runs: what that code still does to its timers has no effect.
        if self._ended is not None and not self._process.is_crashed:
            raise self._ended


class _Factory(ClientFactory[Any]):
    """Wraps the protocols of the program's factory."""

    def __init__(self, process: ProcessReactor, factory: ClientFactory[Any]) -> None:
        self._process = process
        self._factory = factory
        self.noisy = False

    def doStart(self) -> None:
        self._factory.doStart()

    def doStop(self) -> None:
        self._factory.doStop()

    def startedConnecting(self, connector: IConnector) -> None:
        self._process.run(lambda: self._factory.startedConnecting(connector))

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        if self._process.is_crashed:
            return None
        protocol = self._factory.buildProtocol(addr)
        return None if protocol is None else _Connection(self._process, protocol)

    def clientConnectionFailed(self, connector: IConnector, reason: Failure) -> None:
        self._process.run(lambda: self._factory.clientConnectionFailed(connector, reason))

    def clientConnectionLost(self, connector: IConnector, reason: Failure) -> None:
        self._process.run(lambda: self._factory.clientConnectionLost(connector, reason))


class _Connection(Protocol):
    """One connection of the program; its events wait while the program is frozen."""

    def __init__(self, process: ProcessReactor, protocol: IProtocol) -> None:
        self._process = process
        self._protocol = protocol
        self.factory = None

    def connectionMade(self) -> None:
        self._process.add(self)
        self._process.run(lambda: self._protocol.makeConnection(self.transport))  # type: ignore[arg-type]  # it is connected

    def dataReceived(self, data: bytes) -> None:
        process = self._process
        if process.is_paused or process.is_crashed:
            process.run(lambda: self._protocol.dataReceived(data))
        else:
            self._protocol.dataReceived(data)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._process.discard(self)
        self._process.run(lambda: self._protocol.connectionLost(reason))

    def abort(self) -> None:
        self.transport.abortConnection()  # type: ignore[union-attr]
