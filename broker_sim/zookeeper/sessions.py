"""ZooKeeper's sessions: one per process, kept alive by pings. Mirrors SessionTracker and its WatchManager.

Watches belong to the session and stay: a fired watch is sent once, and again after a lost connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.links.node_links import LinkFailure
from broker_sim.zookeeper.messages import EVERYBODY_WATCHES, ZOOKEEPER_ID, Path, WatchFired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from sim_runtime.interfaces import IReactor

NO_SESSION: Final = -1
FIRST_ID: Final = 1 << 32
"""The first id that is given out; sessions of a cluster that starts as a whole have their brokers' ids."""


class Session:
    """One process's session; `broker_epoch` is -1 until it has registered a broker."""

    __slots__ = ("broker_epoch", "broker_id", "fired", "id", "last_seen_s", "notifying", "timer", "watches")

    def __init__(self, session_id: int, broker_id: int, now_s: float) -> None:
        self.id = session_id
        self.broker_id = broker_id
        self.broker_epoch = -1
        self.last_seen_s = now_s
        self.timer: IDelayedCall | None = None
        self.watches: dict[Path, None] = dict.fromkeys(EVERYBODY_WATCHES)
        self.fired: dict[Path, None] = {}
        self.notifying = False

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch these paths too."""
        self.watches.update(dict.fromkeys(paths))


class Sessions:
    """`expired` is called with a session that has sent nothing within its time-out, after its removal."""

    def __init__(
        self, *, reactor: IReactor, links: NodeLinks, timeout_ms: int, expired: Callable[[Session], None]
    ) -> None:
        self._reactor = reactor
        self._links = links
        self._timeout_s = timeout_ms / 1000
        self._expired = expired
        self._sessions: dict[int, Session] = {}
        self._next_id = FIRST_ID

    def open(self, broker_id: int, session_id: int | None = None) -> Session:
        """Begin a session of a broker's process."""
        if session_id is None:
            session_id = self._next_id
            self._next_id += 1
        session = self._sessions[session_id] = Session(session_id, broker_id, self._reactor.seconds())
        self._arm(session, self._timeout_s)
        return session

    def renew(self, session_id: int) -> Session | None:
        """Renew a session and send it the events that it missed; None when it has expired."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.last_seen_s = self._reactor.seconds()
            self._notify(session)
        return session

    def close(self, session: Session) -> None:
        """End the session at the request of its process."""
        if self._sessions.pop(session.id, None) is not None:
            if session.timer is not None:
                session.timer.cancel()
            self._expired(session)

    def fire(self, path: Path) -> None:
        """Notify every session that watches the path."""
        for session in list(self._sessions.values()):
            if path in session.watches:
                session.fired[path] = None
                self._notify(session)

    def stop(self) -> None:
        """Remove all sessions without a notification."""
        for session in self._sessions.values():
            if session.timer is not None:
                session.timer.cancel()
        self._sessions.clear()

    def _arm(self, session: Session, delay_s: float) -> None:
        session.timer = self._reactor.callLater(delay_s, self._look, session)

    def _look(self, session: Session) -> None:
        session.timer = None
        left_s = session.last_seen_s + self._timeout_s - self._reactor.seconds()
        if left_s > 1e-6:
            self._arm(session, left_s)
        else:
            self.close(session)

    def _notify(self, session: Session) -> None:
        if session.notifying or not session.fired:
            return
        session.notifying = True
        fired, session.fired = session.fired, {}
        event = WatchFired(session_id=session.id, paths=list(fired))
        sent = self._links.send(ZOOKEEPER_ID, session.broker_id, event, timeout_ms=round(self._timeout_s * 1000 / 3))
        sent.addCallbacks(self._notified, self._notify_failed, callbackArgs=(session,), errbackArgs=(session, fired))

    def _notified(self, _: object, session: Session) -> None:
        session.notifying = False
        if session.id in self._sessions:
            self._notify(session)

    def _notify_failed(self, failure: Failure, session: Session, fired: dict[Path, None]) -> None:
        failure.trap(LinkFailure)
        # The next request of the session sends it again.
        session.notifying = False
        session.fired = {**fired, **session.fired}
