"""A whole run of one seed: time, network, random streams and digest. As the Cluster of RaftEventSimulationTest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sim_runtime.digest import EventDigest
from sim_runtime.random_streams import RandomStreams
from sim_runtime.unhandled_errors import UnhandledErrors
from sim_runtime.virtual_network import VirtualNetwork
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from twisted.internet.defer import Deferred

__all__ = ["World"]

T = TypeVar("T")

DEADLINE_MS: Final = 60_000


class World:
    """Everything that a part may require. A run is a pure function of the parts built in it and of `seed`.

    An error in a call, or an unhandled error in a Deferred, ends the run method with that error.
    """

    __slots__ = ("_unhandled", "digest", "network", "reactor", "seed", "streams")

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.streams = RandomStreams(seed)
        self.reactor = self._make_reactor()
        self.network = self._make_network()
        self.digest = EventDigest()
        self._unhandled = UnhandledErrors()

    def _make_reactor(self) -> VirtualReactor:
        return VirtualReactor()

    def _make_network(self) -> VirtualNetwork:
        return VirtualNetwork(self.reactor, self.streams)

    def run_for(self, *, ms: float) -> None:
        """Let `ms` of virtual time pass."""
        with self._unhandled:
            self.reactor.run_for(ms=ms)

    def run_until(
        self,
        condition: Deferred[T] | Coroutine[Deferred[Any], Any, T] | Callable[[], T],
        *,
        deadline_ms: float = DEADLINE_MS,
        awaited: str | None = None,
    ) -> T:
        """Run until a Deferred or coroutine has its result, or a function returns a true value; return that."""
        with self._unhandled:
            return self.reactor.run_until(condition, deadline_ms=deadline_ms, awaited=awaited)

    def fingerprint(self) -> str:
        """A hash of all reports, segments, calls and draws: equal for equal runs."""
        reactor = self.reactor
        parts = (
            self.digest.hexdigest(),
            reactor.now_us,
            reactor.calls_made,
            reactor.calls_scheduled,
            self.network.checksum,
            self.streams.fingerprint(),
        )
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
