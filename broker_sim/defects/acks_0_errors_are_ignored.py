"""A broker that refuses records with `acks=0` keeps the connection open.

There is no response that could have the error. If the broker does not lead the partition any more, it drops the
records, and the client sends all later ones to it too, until its metadata expires: it has no reason to look for the
new leader. All of them are lost. A broker that closes the connection makes the client refresh its metadata; the
records that are on their way are lost all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.kafka_apis import KafkaApis
from broker_sim.defects.defect import Defect
from protocol_specs.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext

__all__ = ["DEFECT"]


class ErrorsAreIgnored(KafkaApis):
    """Keeps connections open on which Produce requests without acknowledgement fail."""

    def serve(self, context: RequestContext) -> HandlerResult:
        """Call the handler of a request."""
        result = super().serve(context)
        request = context.request
        if result is NoResponse.CLOSE_CONNECTION and isinstance(request, ProduceRequest) and request.acks == 0:
            return NoResponse.NO_OP
        return result


DEFECT: Final = Defect(
    name="acks-0-errors-are-ignored",
    lesson=__doc__,
    source="KAFKA-955",
    affected="Apache Kafka before 0.8.1",
    anomalies=("acks0-leader-move-loss",),
    substitutes=(ErrorsAreIgnored,),
)
