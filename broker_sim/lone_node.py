"""The controller of a cluster's only node, broker and controller in one process: it ends and starts with its broker.

Mirrors KafkaRaftServer, which has one SharedServer for both roles. With several brokers the one controller of combined
nodes never fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_sim.broker import Broker
    from broker_sim.controller.controller import Controller
    from broker_sim.controller_listeners import ControllerListeners

__all__ = ["LoneNode"]


class LoneNode:
    """`listeners` has that of the controller; None in a cluster without sockets."""

    def __init__(self, controller: Controller, listeners: ControllerListeners | None) -> None:
        self._controller = controller
        self._listeners = listeners

    def follow(self, broker: Broker) -> None:
        """End and start with the process of the broker, also by an upgrade or for want of a disk."""
        broker.process_ended = self._ended
        broker.process_starts = self._starts

    def _ended(self) -> None:
        """Kafka's controller keeps sessions in memory: it fences no broker that died with it."""
        self._controller.forget_sessions()
        self._controller.log.write_no_ops()
        self._controller.log.resign()
        if self._listeners is not None:
            self._listeners.stop()

    def _starts(self) -> None:
        """The controller elects itself and registers, before the broker does."""
        controller = self._controller
        controller.begin_epoch(controller.log.leader_epoch + 1)
        if self._listeners is not None:
            self._listeners.listen()
            controller.controllers_here = self._listeners.registrations()
            controller.register_controllers()
