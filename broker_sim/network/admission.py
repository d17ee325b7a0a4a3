"""Faults of listeners: connections that are refused, closed at once, or left in the queue of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import maybeDeferred

from broker_sim.config.broker_listeners import KERNEL_BACKLOG
from broker_sim.control.events import ConnectionClosed, ConnectionOpened
from sim_runtime.accept_queue import hold_accepts
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress

    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.socket_server import SocketServer
    from sim_runtime.accept_queue import AcceptQueue

__all__ = ["Admission", "Admissions"]


class Admission:
    """The fault of one listener."""

    def __init__(self, acceptor: Acceptor) -> None:
        self._acceptor = acceptor
        acceptor.admission = self

    def admits(self, address: IAddress | None) -> bool:  # noqa: ARG002 - for those that decide by it
        """Return True for a connection that becomes a channel; others are closed."""
        return True

    def end(self) -> None:
        """Accept as usual."""
        self._acceptor.admission = None


class _Refused(Admission):
    def __init__(self, acceptor: Acceptor) -> None:
        super().__init__(acceptor)
        self._listens = acceptor.port is not None
        self._closing = maybeDeferred(acceptor.stop_listening)

    def end(self) -> None:
        """Listen again, as soon as the socket is closed."""
        super().end()
        if self._listens:
            self._closing.addCallback(lambda _: self._listen())

    def _listen(self) -> None:
        if not self._acceptor.server.stopped:
            self._acceptor.listen()


class _Closed(Admission):
    def admits(self, address: IAddress | None) -> bool:
        """Return False. The connection was accepted: the journal has it, so that its client's rate can be measured."""
        node = self._acceptor.server.node
        journal = node.journal
        if journal.full:
            host = str(getattr(address, "host", "unknown"))
            connection_id = f"{self._acceptor.listener}-{host}:{getattr(address, 'port', 0)}"
            time_us = journal.now_us()
            journal.append(
                ConnectionOpened(
                    time_us=time_us,
                    broker_id=node.id,
                    connection_id=connection_id,
                    listener=self._acceptor.listener,
                    client_host=host,
                )
            )
            journal.append(
                ConnectionClosed(
                    time_us=time_us,
                    broker_id=node.id,
                    connection_id=connection_id,
                    reason="a fault rule closes each new connection",
                )
            )
        return False


class _Queued(Admission):
    def __init__(self, acceptor: Acceptor, size: int, accept_every_ms: float | None) -> None:
        super().__init__(acceptor)
        self._queue: AcceptQueue | None = None
        self._accepting: RepeatingCall | None = None
        if acceptor.port is None:
            return
        self._queue = hold_accepts(acceptor.port, size, backlog=KERNEL_BACKLOG)
        if accept_every_ms is not None:
            self._accepting = RepeatingCall(acceptor.server.reactor, accept_every_ms, self._queue.accept_one)
            self._accepting.start()

    def admits(self, address: IAddress | None) -> bool:
        """Return False for a connection of our own, which fills the queue."""
        if self._queue is None or getattr(address, "port", 0) != self._queue.filler_port:
            return True
        super().end()
        return False

    def end(self) -> None:
        """Accept all that wait; while the filler is among them, this object still recognizes it."""
        if self._accepting is not None:
            self._accepting.stop()
        if self._queue is None or not self._queue.filler_port:
            super().end()
        if self._queue is not None:
            self._queue.release()


class Admissions:
    """The faults of all listeners of a SocketServer; one at a time."""

    def __init__(self, server: SocketServer) -> None:
        self._server = server
        self._current: list[Admission] = []

    def refuse(self) -> None:
        """Refuse connections, as a port without a listener does."""
        self.restore()
        self._current = [_Refused(acceptor) for acceptor in self._server.acceptors.values()]

    def close_accepted(self) -> None:
        """Accept connections and close them."""
        self.restore()
        self._current = [_Closed(acceptor) for acceptor in self._server.acceptors.values()]

    def hold_accepts(self, size: int, accept_every_ms: float | None) -> None:
        """Let connections wait unaccepted, up to `size`; accept one per `accept_every_ms`, if that is given."""
        self.restore()
        self._current = [_Queued(acceptor, size, accept_every_ms) for acceptor in self._server.acceptors.values()]

    def restore(self) -> None:
        """Accept as usual."""
        current, self._current = self._current, []
        for admission in current:
            admission.end()
