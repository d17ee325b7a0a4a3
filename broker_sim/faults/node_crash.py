"""The crash of a node by an action: its process ends at once, and a request to it that triggers it gets no response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, maybeDeferred

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing

__all__ = ["crash"]


def crash(firing: Firing, victim: int, end_process: Callable[[int], object]) -> Interception | None:
    """End a node's process in the next loop iteration; with an `until`, start it again there.

    Returns the interception that holds the request of the firing until then, None without a request. A request to the
    victim is lost with it; a request to another node goes on.
    """
    ended: Deferred[None] = Deferred()

    def end() -> Deferred[object]:
        firing.record_victim(victim)

        def done(result: object) -> object:
            ended.callback(None)
            return result

        return maybeDeferred(end_process, victim).addBoth(done)

    firing.apply(end, lambda: firing.cluster.restart(victim))
    if firing.point is None:
        return None
    is_at_victim = firing.point.broker_id == victim
    return Interception(wait=ended, outcome=Outcome.DISCONNECT if is_at_victim else Outcome.PROCEED)
