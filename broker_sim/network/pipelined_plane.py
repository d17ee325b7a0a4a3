"""Wires the data plane of `thread.model=pipelined`. Imported only if that model is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.simulator_configs import PERSIST_TIME_MS, QUEUED_BYTES
from broker_sim.network.pipelined_channel import PipelinedChannel
from broker_sim.network.pipelined_handler_pool import PipelinedHandlerPool
from broker_sim.network.pipelined_processor import PipelinedProcessor
from broker_sim.network.pipelined_request_channel import PipelinedRequestChannel
from broker_sim.network.plane import DATA_PLANE, Plane

if TYPE_CHECKING:
    from broker_sim.network.network_node import NetworkNode
    from sim_runtime.interfaces import IReactor

__all__ = ["pipelined_plane"]


def pipelined_plane(node: NetworkNode, reactor: IReactor) -> Plane:
    """Return AutoMQ's data plane: one queue per handler."""
    config = node.config
    time_ms, bytes_max = config[PERSIST_TIME_MS], config[QUEUED_BYTES]
    assert isinstance(time_ms, float)
    assert isinstance(bytes_max, int)
    pool = config.part_types.of(PipelinedHandlerPool)(
        reactor=reactor,
        now_us=node.journal.now_us,
        rpc=node.rpc,
        size=config.num_io_threads,
        persist_time_ms=time_ms,
    )
    return Plane(
        name=DATA_PLANE,
        request_channel=PipelinedRequestChannel(config.queued_max_requests, bytes_max, pool),
        handler_pool=pool,
        processor_type=PipelinedProcessor,
        channel_type=PipelinedChannel,
    )
