"""A broker on real sockets that stands still: nothing reaches it and nothing leaves it until it goes on.

The brokers of a process share one loop, so SIGSTOP cannot be sent to one of them. Other nodes and clients observe no
difference: links hold all messages to and from the broker, its connections are not read and hold its responses, and new
connections wait in the queue of the system. Its own timers run on, unlike those of a stopped process; their effect
leaves the broker when it goes on, which is when a stopped process would act.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.broker_listeners import KERNEL_BACKLOG
from broker_sim.faults.connections import ConnectionFault, ListenerFault
from sim_runtime.wire_shaping import Held, NotReading

if TYPE_CHECKING:
    from random import Random

    from broker_sim.faults.connections import ConnectionFaults
    from broker_sim.links.node_links import NodeLinks

__all__ = ["SocketPause"]


class SocketPause:
    """The pause of one broker, from its construction to `end`. `connections` is None without clients."""

    def __init__(self, broker_id: int, links: NodeLinks, connections: ConnectionFaults | None, random: Random) -> None:
        self._held = links.links_of(broker_id)
        for link in self._held:
            link.hold(self)
        self._fault = ConnectionFault(
            nodes=(broker_id,),
            client="*",
            upstream=(NotReading(),),
            downstream=(Held(),),
            share=1,
            random=random,
        )
        self._listening = ListenerFault(
            nodes=(broker_id,), begin=lambda listening: listening.hold_accepts(KERNEL_BACKLOG, None)
        )
        self._connections = connections
        if connections is not None:
            connections.begin(self._fault)
            connections.begin_at_listeners(self._listening)

    def end(self) -> None:
        """Deliver what waits, and accept again."""
        if self._connections is not None:
            self._connections.end_at_listeners(self._listening)
            self._connections.end(self._fault)
        for link in self._held:
            link.release(self)
