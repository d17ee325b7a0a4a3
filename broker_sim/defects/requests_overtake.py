"""A broker serves the requests of one connection at the same time.

Kafka reads the next request of a connection when it has sent the response to the one before, and other brokers with
one queue per connection keep the order too. This one gives each request to another handler. A Produce that takes
longer is overtaken by the next one of the same producer: the records are in the log in the other order, although
nothing failed and nothing was retried. A producer with `enable.idempotence` gets 45 for the second batch and sends it
again; one request in flight avoids it as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.network.pipelined_handler_pool import PipelinedHandlerPool

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext

__all__ = ["DEFECT"]


class AnyHandlerServes(PipelinedHandlerPool):
    """Gives each request to the next handler; the responses of a connection keep their order."""

    __slots__ = ()

    def handler_of(self, context: RequestContext) -> int:
        """Return the number of the handler of a request."""
        return context.request_id % self.size


DEFECT: Final = Defect(
    name="requests-overtake",
    lesson=__doc__,
    source="Azure/azure-event-hubs-for-kafka#137",
    affected="Azure Event Hubs, reported",
    anomalies=("pipelined-processed-concurrently",),
    substitutes=(AnyHandlerServes,),
    needs_config={"thread.model": "pipelined"},
)
