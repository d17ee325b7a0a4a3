"""Turns of the Sender in the thread of a caller who sends a record and waits for it, instead of the network thread.

One record at a time is the case where a network thread costs most: two threads hand over to each other four times a
record and fight for the interpreter. When nothing else is going on, `send` writes the request itself and `result` reads
the answer, with the network thread asleep and its reactor borrowed. Everything else stays with the network thread, and
so does every callback: a caller takes no turn that might call one.
"""

from __future__ import annotations

from functools import partial
from select import POLLIN, poll
from typing import TYPE_CHECKING, Final

from broker_client.process_forks import forks
from sim_runtime.interrupt_guard import InterruptGuard
from sim_runtime.spinning_wait import SpinningWait

if TYPE_CHECKING:
    from twisted.internet.tcp import Connection

    from broker_client.core.network.cluster import Node
    from broker_client.core.producer.produce_request_result import ProduceRequestResult
    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.lending_reactor import LendingEPollReactor

__all__ = ["CallerTurns"]

AWAIT_MS_MAX: Final = 10
"""How long a caller waits for an answer itself; whoever waits longer sleeps until the network thread wakes it."""

SHORT_WAITS_MIN: Final = 2
"""After so many answers in a row that came soon a caller looks for the next before it sleeps."""

RECEIVES_MAX: Final = 8
"""So many pieces an answer may come in."""

_MS_PER_S: Final = 1000
_CLOSED: Final = -1


class CallerTurns:
    """Of one producer without linger.ms and transactions, whose batches leave as soon as they are made."""

    def __init__(self, core: ProducerCore, reactor: LendingEPollReactor) -> None:
        self._core = core
        self._client = core.client
        self._reactor = reactor
        self._guard = InterruptGuard()
        self._forks = forks.count
        self._polled_fd = _CLOSED
        self._poll = poll()
        self._spinning = SpinningWait(reactor.seconds, short_waits_min=SHORT_WAITS_MIN)
        self._awaited: Connection | None = None
        core.client.selector.before_reading = self._leave_to_network_thread
        core.accumulator.wakeup = self.wakeup
        core.accumulator.await_here = self.await_here

    def wakeup(self) -> None:
        """A batch was made or is full: take the turn that sends it, or let the network thread take it."""
        if self._client.in_flight_count() or not self._guard.take():
            self._core.wakeup()
            return
        try:
            if not self._has_taken_turn():
                self._core.wakeup()
        finally:
            self._guard.give_back()

    def await_here(self, result: ProduceRequestResult, timeout_s: float | None) -> float:
        """Receive the answer that a result waits for, if it comes soon; answers how long it was waited for in vain."""
        if forks.count != self._forks or not self._guard.take():
            return 0.0
        try:
            connection = self._set_aside()
            if connection is None:
                return 0.0
            wait_ms = AWAIT_MS_MAX if timeout_s is None else min(int(timeout_s * _MS_PER_S), AWAIT_MS_MAX)
            received = self._receive(result, connection, wait_ms)
            return 0.0 if received else wait_ms / _MS_PER_S
        finally:
            self._guard.give_back()

    def _has_taken_turn(self) -> bool:
        if not self._reactor.borrow():
            return False
        try:
            leader = self._leader_of_only_batch()
            connection = self._set_aside_borrowed(leader)
            if leader is None or connection is None:
                return False
            try:
                self._send(leader)
                # The network thread would wake for an answer that is there already.
                if self._has_received(connection, 0):
                    self._take_answers(connection)
            finally:
                self._put_back_borrowed(connection)
            return True
        finally:
            self._reactor.give_back()

    def _set_aside(self) -> Connection | None:
        """Keep the network thread from the connection that the answer will come on; None: it has to read it itself."""
        if not self._reactor.borrow():
            return None
        try:
            return self._set_aside_borrowed(self._leader_of_only_batch())
        finally:
            self._reactor.give_back()

    def _set_aside_borrowed(self, leader: Node | None) -> Connection | None:
        connection = None if self._awaited is not None else self._connection_to(leader)
        if connection is not None:
            self._awaited = connection
            self._reactor.set_aside(connection)
        return connection

    def _put_back(self, connection: Connection) -> None:
        if self._reactor.borrow(waits=True):
            try:
                self._put_back_borrowed(connection)
            finally:
                self._reactor.give_back()

    def _put_back_borrowed(self, connection: Connection) -> None:
        self._awaited = None
        self._reactor.put_back(connection)

    def _receive(self, result: ProduceRequestResult, connection: Connection, wait_ms: int) -> bool:
        """Whether something came in time each time that it was waited for; the connection is put back in any case."""
        is_aside = True
        try:
            for _ in range(RECEIVES_MAX):
                if result.completed:
                    break
                if not self._has_received(connection, wait_ms):
                    return False
                if not self._reactor.borrow(waits=True):
                    break
                try:
                    if self._connection_to(self._leader_of_only_batch()) is not connection:
                        break
                    self._take_answers(connection)
                    if not self._client.in_flight_count():
                        # While it is borrowed anyway. From here on another caller may have set it aside.
                        is_aside = False
                        self._put_back_borrowed(connection)
                        break
                finally:
                    self._reactor.give_back()
        finally:
            if is_aside:
                self._put_back(connection)
        return True

    # What is for who has borrowed the reactor

    def _leader_of_only_batch(self) -> Node | None:
        """Who will answer if one batch is all there is to do.

        None as well when a turn might call somebody: one who waits for a record, or whose records fail.
        """
        core = self._core
        transactions = core.transactions
        if transactions is not None and not transactions.is_settled:
            return None
        batches = core.accumulator.incomplete_batches()
        if len(batches) != 1 or batches[0].has_listeners:
            return None
        return core.metadata.cluster.leader_for(batches[0].topic_partition)

    def _connection_to(self, leader: Node | None) -> Connection | None:
        """Where the answer will come, if that is a plain socket that is connected."""
        return None if leader is None else self._client.selector.plain_socket(leader.id)

    def _leave_to_network_thread(self) -> None:
        """In a process that stood still it gives nothing up before it has read what a caller still waits for."""
        if self._awaited is not None:
            self._reactor.put_back(self._awaited)

    def _send(self, leader: Node) -> None:
        core = self._core
        core.loop.send_here(partial(core.turns.measure, partial(core.sender.send_alone, leader)))

    def _take_answers(self, connection: Connection) -> None:
        self._core.loop.answers_here(partial(self._reactor.receive, connection), self._core.sender.take_answers)

    def _has_received(self, connection: Connection, wait_ms: int) -> bool:
        fd = connection.fileno()
        if fd == _CLOSED:
            return False
        if fd != self._polled_fd:
            self._poll = poll()
            self._poll.register(fd, POLLIN)
            self._polled_fd = fd
        if not wait_ms:
            return bool(self._poll.poll(0))
        try:
            self._guard.let_through(True)
            return bool(self._spinning.wait(self._poll_seconds, wait_ms / _MS_PER_S))
        finally:
            self._guard.let_through(False)

    def _poll_seconds(self, timeout: float) -> list[tuple[int, int]]:
        return self._poll.poll(timeout * _MS_PER_S)
