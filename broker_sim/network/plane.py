"""A RequestChannel with its handlers, and what reads for it. Mirrors the data plane and control plane of SocketServer.

All listeners of clients share the data plane. The control plane (`control.plane.listener.name`, ZooKeeper mode only)
has one Processor, one handler and a queue of its own, so that the controller's requests wait behind nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.network.channel import KafkaChannel
from broker_sim.network.handler_pool import HandlerPool
from broker_sim.network.processor import Processor
from broker_sim.network.request_channel import RequestChannel

if TYPE_CHECKING:
    from broker_sim.broker import Broker
    from sim_runtime.interfaces import IReactor

__all__ = ["CONTROL_PLANE_QUEUE_SIZE", "Plane", "classic_plane", "control_plane"]

CONTROL_PLANE_QUEUE_SIZE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Where requests are queued and handled, and the kinds of Processor and channel that bring them."""

    name: str
    request_channel: RequestChannel
    handler_pool: HandlerPool
    processor_type: type[Processor] = Processor
    channel_type: type[KafkaChannel] = KafkaChannel


def classic_plane(broker: Broker, reactor: IReactor) -> Plane:
    """Kafka's own data plane: one queue for all handlers."""
    config = broker.config
    return _plane("data-plane", broker, reactor, handlers=config.num_io_threads, queue_size=config.queued_max_requests)


def control_plane(broker: Broker, reactor: IReactor) -> Plane:
    """The controller's own way in."""
    return _plane("control-plane", broker, reactor, handlers=1, queue_size=CONTROL_PLANE_QUEUE_SIZE)


def _plane(name: str, broker: Broker, reactor: IReactor, *, handlers: int, queue_size: int) -> Plane:
    pool = HandlerPool(reactor=reactor, now_us=broker.journal.now_us, apis=broker.apis, size=handlers)
    return Plane(name=name, request_channel=RequestChannel(queue_size, pool), handler_pool=pool)
