"""One direction between two nodes: messages in order, after a delay, unless the link is held or cut.

On an idle open link without delay a message is delivered by a plain call.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from broker_sim.links.link_states import TABLE, LinkEvent, LinkState
from sim_runtime.paces import BandwidthPace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.links.link_call import LinkCall
    from sim_runtime.interfaces import IReactor
    from sim_runtime.link import Link as NetworkLink
    from sim_runtime.paces import Pace

__all__ = ["Link"]

ROUNDING_S: Final = 5e-7
"""Timers of real reactors may fire a little early."""
_OPEN: Final = LinkState.OPEN


class _Cause(Enum):
    """A cause of a hold or a cut: the verbs of the cluster, or the simulated network that the link is attached to."""

    VERB = auto()
    NETWORK = auto()


class Link:
    """`delay_ms` holds for messages that are sent from now on; `network_link` delays, holds and cuts as well.

    Several causes can hold, cut or shape a link at the same time; each ends by itself.
    `changed(link, what)` is called with `held`, `released`, `cut`, `restored`, `delayed` or `shaped`.
    """

    __slots__ = (
        "_changed",
        "_cut_by",
        "_held_by",
        "_is_direct",
        "_network_link",
        "_paces",
        "_queue",
        "_reactor",
        "_state",
        "_timer",
        "delay_ms",
        "source",
        "target",
    )

    def __init__(
        self,
        reactor: IReactor,
        source: int,
        target: int,
        delay_ms: float,
        changed: Callable[[Link, str], None],
        network_link: NetworkLink | None = None,
    ) -> None:
        self._reactor = reactor
        self._changed = changed
        self._network_link = network_link
        self._state = LinkState.OPEN
        self._held_by: dict[object, None] = {}
        self._cut_by: dict[object, None] = {}
        self._paces: dict[object, tuple[Pace, ...]] = {}
        self._queue: deque[tuple[float, LinkCall, Callable[[LinkCall, Any], None], Any]] = deque()
        self._timer: IDelayedCall | None = None
        self.source = source
        self.target = target
        self.delay_ms = delay_ms
        self._is_direct = network_link is None and delay_ms <= 0
        """True if a message is delivered by a plain call, unless an earlier one is in flight."""
        if network_link is not None:
            network_link.add(self)
            self.follow_network()

    @property
    def held(self) -> bool:
        """True while messages are kept."""
        return self._state in (LinkState.HELD, LinkState.HELD_AND_CUT)

    @property
    def cut_off(self) -> bool:
        """True while messages are lost."""
        return self._state in (LinkState.CUT, LinkState.HELD_AND_CUT)

    @property
    def is_open(self) -> bool:
        """True if a message that is sent now would arrive without a further change."""
        return self._state is LinkState.OPEN

    @property
    def in_flight(self) -> int:
        """The number of messages on the link."""
        return len(self._queue)

    # Impairments.

    def hold(self, cause: object = _Cause.VERB) -> None:
        """Keep every message, those in flight too, until `release` for the same cause."""
        self._hold(cause)

    def release(self, cause: object = _Cause.VERB) -> None:
        """Deliver the held messages in order, and all later ones, unless another cause goes on."""
        self._release(cause)

    def cut(self, cause: object = _Cause.VERB) -> None:
        """Lose every message, those in flight too, until `restore` for the same cause."""
        self._cut(cause)

    def restore(self, cause: object = _Cause.VERB) -> None:
        """Deliver messages again, unless another cause goes on; the calls that lost one fail now."""
        self._restore(cause)

    def shape(self, cause: object, paces: Sequence[Pace]) -> None:
        """Make messages that are sent from now on take more time, until `unshape`; none overtakes an earlier one."""
        self._paces[cause] = tuple(paces)
        self._set_state(self._state)
        self._changed(self, "shaped")

    def unshape(self, cause: object) -> None:
        """End `shape` for a cause; messages in flight keep their time."""
        if self._paces.pop(cause, None) is not None:
            self._set_state(self._state)
            self._changed(self, "shaped")

    def set_delay(self, delay_ms: float) -> None:
        """Delay messages by `delay_ms` from now on; none overtakes an earlier one."""
        self.delay_ms = delay_ms
        self._set_state(self._state)
        self._changed(self, "delayed")

    def stall(self) -> None:
        """The network between the two hosts was held or cut."""
        self.follow_network()

    def resume(self) -> None:
        """The network between the two hosts is open again."""
        self.follow_network()

    def follow_network(self) -> None:
        """Adopt the present state of the network between the two hosts."""
        network = self._network_link
        assert network is not None, "only a network stalls"
        (self._hold if network.is_held else self._release)(_Cause.NETWORK)
        (self._cut if network.is_cut else self._restore)(_Cause.NETWORK)

    def _hold(self, cause: object) -> None:
        self._held_by[cause] = None
        if not self.held:
            self._set_state(TABLE.next(self._state, LinkEvent.HOLD))
            self._changed(self, "held")

    def _release(self, cause: object) -> None:
        self._held_by.pop(cause, None)
        if self.held and not self._held_by:
            self._set_state(TABLE.next(self._state, LinkEvent.RELEASE))
            self._changed(self, "released")
            self._schedule(self._reactor.seconds())

    def _cut(self, cause: object) -> None:
        self._cut_by[cause] = None
        if not self.cut_off:
            self._set_state(TABLE.next(self._state, LinkEvent.CUT))
            lost = list(self._queue)
            self._queue.clear()
            self._changed(self, "cut")
            for _, call, _, _ in lost:
                call.lose()

    def _restore(self, cause: object) -> None:
        self._cut_by.pop(cause, None)
        if self.cut_off and not self._cut_by:
            self._set_state(TABLE.next(self._state, LinkEvent.RESTORE))
            self._changed(self, "restored")

    def _set_state(self, state: LinkState) -> None:
        self._state = state
        self._is_direct = (
            self._network_link is None and state is LinkState.OPEN and self.delay_ms <= 0 and not self._paces
        )

    # Messages.

    def transmit(self, call: LinkCall, deliver: Callable[[LinkCall, Any], None], payload: Any) -> None:
        """Bring one message of `call` across: `deliver(call, payload)` is called at its arrival, unless it is lost.

        `payload` is the request, the response, or the reason of a reset.
        """
        if self._is_direct and not self._queue:
            deliver(call, payload)
            return
        if self._state is not _OPEN and self.cut_off:
            call.lose()
            return
        network = self._network_link
        now_s = self._reactor.seconds()
        due_s = now_s + self.delay_ms / 1000
        if network is not None and not network.paces:
            due_s += network.latency_us / 1e6
        elif network is not None:
            now_us = round(now_s * 1e6)
            size = 0 if network.bandwidth_bytes_per_s is None else call.size_of(payload)
            due_s += (network.arrival_us(now_us, size) - now_us) / 1e6
        if self._paces:
            due_s = self._paced(due_s, call, payload)
        queue = self._queue
        if queue and queue[-1][0] > due_s:
            due_s = queue[-1][0]
        queue.append((due_s, call, deliver, payload))
        if self._timer is None:
            self._schedule(now_s)

    def _paced(self, due_s: float, call: LinkCall, payload: Any) -> float:
        paces = [pace for each in self._paces.values() for pace in each]
        # To know its size, a message must be encoded.
        size = call.size_of(payload) if any(isinstance(pace, BandwidthPace) for pace in paces) else 0
        due_us = round(due_s * 1e6)
        for pace in paces:
            due_us = pace.due_us(due_us, size)
        return due_us / 1e6

    def drop_calls_of(self, node: int) -> None:
        """Forget the messages of calls that `node` takes part in."""
        self._queue = deque(entry for entry in self._queue if node not in (entry[1].source, entry[1].target))

    def _schedule(self, now_s: float) -> None:
        if self._timer is None and self._queue and (self._state is _OPEN or not self.held):
            self._timer = self._reactor.callLater(max(0.0, self._queue[0][0] - now_s), self._deliver_due)

    def _deliver_due(self) -> None:
        self._timer = None
        due_s = self._reactor.seconds() + ROUNDING_S
        try:
            # What is delivered may hold the link or replace the queue.
            while self._queue and self._queue[0][0] <= due_s and (self._state is _OPEN or not self.held):
                _, call, deliver, payload = self._queue.popleft()
                deliver(call, payload)
        finally:
            if self._queue:
                self._schedule(self._reactor.seconds())
