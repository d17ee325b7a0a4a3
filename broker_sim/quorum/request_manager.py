"""At most one request on its way to each voter, and a pause after each failure. Mirrors raft's RequestManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.quorum.raft_settings import RETRY_BACKOFF_MS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

__all__ = ["RequestManager"]

TOLERANCE_MS: Final = 5e-4
"""How much too early a timer may be, for the sum of floats that it is."""


class RequestManager:
    """`voters` are the others. All times in milliseconds of the same clock."""

    __slots__ = ("_backing_off", "_in_flight", "_next_id", "_random", "_timeout_ms", "_voters")

    def __init__(self, voters: Sequence[int], *, timeout_ms: int, random: Random) -> None:
        self._voters = list(voters)
        self._timeout_ms = timeout_ms
        self._random = random
        self._in_flight: dict[int, tuple[int, float]] = {}
        self._backing_off: dict[int, float] = {}
        self._next_id = 0

    def is_ready(self, node: int, now_ms: float) -> bool:
        """Return True if a request may be sent now; one that has timed out no longer counts."""
        self._forget_past(now_ms)
        return node not in self._in_flight and node not in self._backing_off

    def is_backing_off(self, node: int, now_ms: float) -> bool:
        """Return True while the back-off after a failed request lasts."""
        self._forget_past(now_ms)
        return node in self._backing_off

    def has_timed_out(self, node: int, now_ms: float) -> bool:
        """Return True if a request got no response in time; `reset` it, or send the next one."""
        sent = self._in_flight.get(node)
        return sent is not None and now_ms + TOLERANCE_MS >= sent[1]

    def has_any_in_flight(self, now_ms: float) -> bool:
        """Return True if any response is awaited."""
        self._forget_past(now_ms)
        return bool(self._in_flight)

    def any_ready(self, now_ms: float) -> int | None:
        """Return a random voter for the next request; None while a response is awaited or no voter is ready."""
        if self.has_any_in_flight(now_ms):
            return None
        start = self._random.randrange(len(self._voters))
        order = self._voters[start:] + self._voters[:start]
        return next((node for node in order if node not in self._backing_off), None)

    def sent(self, node: int, now_ms: float) -> int:
        """A request is sent: its correlation id."""
        self._next_id += 1
        self._in_flight[node] = (self._next_id, now_ms + self._timeout_ms)
        self._backing_off.pop(node, None)
        return self._next_id

    def take_expected(self, node: int, correlation_id: int) -> bool:
        """Return True if this response is awaited, and end the wait."""
        sent = self._in_flight.get(node)
        if sent is None or sent[0] != correlation_id:
            return False
        del self._in_flight[node]
        return True

    def back_off(self, node: int, now_ms: float) -> None:
        """Leave a voter alone for a while."""
        self._backing_off[node] = now_ms + RETRY_BACKOFF_MS

    def reset(self, node: int) -> None:
        """Allow a request to a voter at once."""
        self._in_flight.pop(node, None)
        self._backing_off.pop(node, None)

    def reset_all(self) -> None:
        """Forget every connection's state: requests of another state of the quorum no longer matter."""
        self._in_flight.clear()
        self._backing_off.clear()

    def next_due_ms(self, now_ms: float) -> float:
        """Return the earliest time at which a request times out or a pause is over."""
        self._forget_past(now_ms)
        times = [due for _, due in self._in_flight.values()] + list(self._backing_off.values())
        return min(times, default=float("inf"))

    def _forget_past(self, now_ms: float) -> None:
        now_ms += TOLERANCE_MS
        for node in [node for node, (_, due) in self._in_flight.items() if due <= now_ms]:
            del self._in_flight[node]
        for node in [node for node, due in self._backing_off.items() if due <= now_ms]:
            del self._backing_off[node]
