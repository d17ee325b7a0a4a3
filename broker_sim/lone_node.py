"""The controller of a cluster's only node, broker and controller in one process: it ends and starts with its broker.

Mirrors KafkaRaftServer, which has one SharedServer for both roles. With several brokers the one controller of combined
nodes never fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_sim.cluster import Cluster
    from broker_sim.controller_listeners import ControllerListeners

__all__ = ["LoneNode"]


class LoneNode:
    """`listeners` has that of the controller; None in a cluster without sockets. No effect in any other cluster."""

    def __init__(self, cluster: Cluster, listeners: ControllerListeners | None) -> None:
        self._cluster = cluster
        self._listeners = listeners
        is_combined = not cluster.controller_ids and not cluster.config.behaviour.zookeeper
        self._is_there = is_combined and len(cluster.brokers) == 1

    def ended(self, _: object = None) -> None:
        """The process has ended. A second call has no effect.

        Kafka's controller keeps sessions in memory: it fences no broker that died with it.
        """
        if not self._is_there:
            return
        controller = self._cluster.controller
        controller.forget_sessions()
        controller.log.write_no_ops()
        controller.log.resign()
        if self._listeners is not None:
            self._listeners.stop()

    def starts(self) -> None:
        """A process starts: its controller elects itself and registers, before the broker does."""
        if not self._is_there:
            return
        controller = self._cluster.controller
        controller.begin_epoch(controller.log.leader_epoch + 1)
        if self._listeners is not None:
            self._listeners.listen()
            controller.controllers_here = self._listeners.registrations()
            controller.register_controllers()
