"""Puts the layer that shapes a connection between the socket and its channel, in an open connection too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from twisted.protocols.policies import ProtocolWrapper

from sim_runtime.shaped_transport import ShapedTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.response_writer import IChannelTransport

__all__ = ["shape"]


def shape(channel: KafkaChannel, closed: Callable[[ShapedTransport], None], *, full: bool) -> ShapedTransport:
    """Return the layer, above the socket and under TLS. `full`: the channel waits for its writes."""
    reactor = channel.processor.server.reactor
    raw: Any = channel.transport
    if not isinstance(raw, ProtocolWrapper):
        shaped = ShapedTransport(reactor, raw, channel, closed=closed, full=full)
        channel.move_to(cast("IChannelTransport", shaped))
        return shaped
    tls, raw = raw, raw.transport
    producer, streaming, paused = raw.producer, raw.streamingProducer, raw.producerPaused
    shaped = ShapedTransport(reactor, raw, cast("Any", tls), closed=closed, full=bool(paused))
    tls.transport = shaped
    if producer is not None:
        shaped.registerProducer(producer, streaming)
    return shaped
