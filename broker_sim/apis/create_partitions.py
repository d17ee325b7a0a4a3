"""CreatePartitions (api key 37): the controller answers, the broker passes the request on (KIP-195, KIP-590).

Versions: v2 flexible. v3 a controller mutation quota may refuse (KIP-599). Mirrors KafkaApis with
ControllerApis.createPartitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.controller.create_partitions import refused_creation
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse


def error_response(
    request: CreatePartitionsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> CreatePartitionsResponse:
    """The whole request fails: every topic has the error."""
    return refused_creation(request, error_code)


register(ApiHandler(api_key=ApiKey.CREATE_PARTITIONS, handle=forward, error_response=error_response))
