"""A RequestChannel with its handlers and Processors. Mirrors the data plane and control plane of SocketServer.

All client listeners share the data plane. The control plane (`control.plane.listener.name`, ZooKeeper mode only) has
one Processor, one handler and its own queue, so that requests of clients do not delay those of the controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.config.simulator_configs import PERSIST_TIME_MS, PIPELINED, THREAD_MODEL
from broker_sim.network.channel import KafkaChannel
from broker_sim.network.handler_pool import HandlerPool
from broker_sim.network.processor import Processor
from broker_sim.network.request_channel import RequestChannel

if TYPE_CHECKING:
    from broker_sim.network.network_node import NetworkNode
    from sim_runtime.interfaces import IReactor

__all__ = ["CONTROL_PLANE_QUEUE_SIZE", "DATA_PLANE", "Plane", "control_plane", "data_plane"]

DATA_PLANE: Final = "data-plane"
CONTROL_PLANE: Final = "control-plane"
CONTROL_PLANE_QUEUE_SIZE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The queue and the handlers of requests, and the types of Processor and channel that read them."""

    name: str
    request_channel: RequestChannel
    handler_pool: HandlerPool
    processor_type: type[Processor] = Processor
    channel_type: type[KafkaChannel] = KafkaChannel


def data_plane(node: NetworkNode, reactor: IReactor) -> Plane:
    """Return the plane of clients: Kafka's, with one queue for all handlers, or the one that `thread.model` names."""
    config = node.config
    if config[THREAD_MODEL] == PIPELINED:
        from broker_sim.network.pipelined_plane import pipelined_plane

        return pipelined_plane(node, reactor)
    pool = HandlerPool(reactor=reactor, now_us=node.journal.now_us, rpc=node.rpc, size=config.num_io_threads)
    time_ms = config[PERSIST_TIME_MS]
    if time_ms:
        from broker_sim.network.persistence import PersistingHandlerPool

        assert isinstance(time_ms, float)
        pool = PersistingHandlerPool(
            reactor=reactor, now_us=node.journal.now_us, rpc=node.rpc, size=pool.size, time_ms=time_ms
        )
    return Plane(name=DATA_PLANE, request_channel=RequestChannel(config.queued_max_requests, pool), handler_pool=pool)


def control_plane(node: NetworkNode, reactor: IReactor) -> Plane:
    """Return the plane of the controller's requests."""
    pool = HandlerPool(reactor=reactor, now_us=node.journal.now_us, rpc=node.rpc, size=1)
    channel = RequestChannel(CONTROL_PLANE_QUEUE_SIZE, pool)
    return Plane(name=CONTROL_PLANE, request_channel=channel, handler_pool=pool)
