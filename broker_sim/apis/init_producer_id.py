"""InitProducerId (api key 22): a producer id and epoch for an idempotent producer (KIP-98).

Versions: v3 an id and epoch that the producer has (KIP-360): both or neither. The first request of a broker's run is
COORDINATOR_LOAD_IN_PROGRESS while the broker fetches its block of ids; before 3.6 it waits for them. Transactional ids
need the transaction coordinator, which is not simulated yet: they are checked as Kafka does, then refused with
UNSUPPORTED_VERSION, which clients take as fatal.

Mirrors KafkaApis.handleInitProducerIdRequest and TransactionCoordinator.handleInitProducerId.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.apis.api_handler import ApiHandler
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.init_producer_id import InitProducerIdRequest

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1

_log = Logger()


def handle(request: InitProducerIdRequest, context: RequestContext) -> Message | Deferred[Message]:
    """Give the next id of this broker's block, always with epoch 0."""
    refused = _refuse(request, context)
    if refused is not None:
        return _refused(refused)
    config, ids = context.broker.config, context.broker.producer_ids
    if config.behaviour.producer_ids_are_waited_for:
        return ids.generate_within(config.request_timeout_ms).addCallback(_response_of)
    return _response_of(ids.generate())


def _response_of(producer_id: int | ErrorCode) -> Message:
    if isinstance(producer_id, ErrorCode):
        return _refused(producer_id)
    return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _refuse(request: InitProducerIdRequest, context: RequestContext) -> ErrorCode | None:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is None:
        return None
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < request.transaction_timeout_ms <= context.broker.config.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    _log.warn("Transactions are not simulated: transactional id {id!r} is refused", id=request.transactional_id)
    return ErrorCode.UNSUPPORTED_VERSION


def _refused(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)


def error_response(
    request: InitProducerIdRequest,  # noqa: ARG001 - the response has nothing of it
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> InitProducerIdResponse:
    """The whole request fails."""
    return _refused(error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
