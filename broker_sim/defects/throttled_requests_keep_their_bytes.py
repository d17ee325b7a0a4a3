"""A broker keeps the bytes of a request until its response is sent, also while the client is throttled.

Before 2.0 the response of a client over its quota waits for the throttle time (KIP-219), up to many seconds, and the
handler does not need the records any more. If they stay in memory nevertheless, a few throttled producers fill it.
With `queued.max.request.bytes` (KIP-72) the broker then reads no request at all, of other clients neither: one
client's quota stalls everybody. Without that limit the broker runs out of memory. A broker that releases the bytes of
a request when the handler is done is not affected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.network.memory_pool import PooledProcessor

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext

__all__ = ["DEFECT"]


class BytesAreKept(PooledProcessor):
    """Releases the bytes of a request with its response."""

    def _handled(self, context: RequestContext, result: HandlerResult) -> None:
        self._rpc.respond(context, result)


DEFECT: Final = Defect(
    name="throttled-requests-keep-their-bytes",
    lesson=__doc__,
    source="KAFKA-4725",
    affected="Apache Kafka before 0.10.2.0",
    anomalies=("broker-retains-throttled-bodies",),
    substitutes=(BytesAreKept,),
    since="1.0",
    until="2.0",
)
