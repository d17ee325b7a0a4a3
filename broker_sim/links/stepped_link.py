"""A link between two nodes as a lane of a SteppedReactor: a schedule decides when its next message arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.links.link import Link
from sim_runtime.stepped_reactor import SteppedReactor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.links.link_call import LinkCall

__all__ = ["SteppedLink"]


class SteppedLink(Link):
    """As Link, but each message is delivered by itself, by a step of the schedule."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The nodes at both ends."""
        return f"{self.source} -> {self.target}"

    @property
    def is_ready(self) -> bool:
        """True if a message is in flight and no hold keeps it."""
        return bool(self._queue) and not self.held

    @property
    def contents(self) -> Iterator[tuple[LinkCall, Any]]:
        """The messages in flight in their order: each call, with its request, its response or the reason of a reset."""
        return ((call, payload) for _, call, _, payload in self._queue)

    def deliver(self) -> None:
        """Deliver the next message."""
        _, call, deliver, payload = self._queue.popleft()
        deliver(call, payload)

    @property
    def can_be_lost(self) -> bool:
        """True if the next message is a request or a response, not the reset of a connection."""
        return not isinstance(self._queue[0][3], str)

    def lose(self) -> None:
        """Lose the next message: its call fails at its source, as when a connection breaks."""
        _, call, _, _ = self._queue.popleft()
        call.reset("connection reset")

    def _schedule(self, now_s: float) -> None:  # noqa: ARG002 - the schedule decides when
        reactor = self._reactor
        assert isinstance(reactor, SteppedReactor), "a SteppedLink is on a SteppedReactor"
        if self._queue:
            reactor.offer(self)
