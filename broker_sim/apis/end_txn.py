"""EndTxn (api key 26): commit or abort the transaction of a producer (KIP-98).

Versions: v2 has PRODUCER_FENCED, where lower versions have INVALID_PRODUCER_EPOCH. v5 is of transactions v2 (KIP-890):
it increments the epoch, also when it aborts nothing, and the response has the producer of the next transaction. The
response is sent when the end is decided, before any marker is written.

Mirrors KafkaApis.handleEndTxnRequest and TransactionCoordinator.handleEndTransaction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.repeated_response import frame_tail, frame_with_tail
from broker_sim.apis.transaction_requests import NewFencedError, responded
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.coordinators.transactions.transaction_metadata import TRANSACTIONS_V2
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.end_txn import EndTxnResponse

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import HandlerResult, NoResponse, PreparedResponse, Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.transactions.producers import ProducerResult
    from protocol_specs.message import Message
    from protocol_specs.messages.end_txn import EndTxnRequest

TRANSACTIONS_V2_SINCE: Final = 5
_FENCED: Final = NewFencedError(since=2)


def handle(request: EndTxnRequest, context: RequestContext) -> HandlerResult:
    """Decide the end of the transaction; its markers follow."""
    if not request.transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    written = context.broker.coordinators.transactions.end(
        request.transactional_id,
        producer,
        commit=request.committed,
        client_version=TRANSACTIONS_V2 if context.api_version >= TRANSACTIONS_V2_SINCE else 0,
    )

    def respond(result: ProducerResult) -> Response:
        version = context.api_version
        if version >= TRANSACTIONS_V2_SINCE or result.error_code or not context.transport.takes_frames:
            return _response(result)
        return success_frame(context.correlation_id, version)

    result: Response | NoResponse | Deferred[Response | NoResponse] = responded(
        written,
        (request.transactional_id, producer),
        context,
        respond,
        lambda error_code: _refused(_FENCED.of(error_code, context)),
    )
    return result


def _response(result: ProducerResult) -> Message:
    return EndTxnResponse(
        error_code=result.error_code, producer_id=result.producer_id, producer_epoch=result.producer_epoch
    )


def success_frame(correlation_id: int, version: int) -> PreparedResponse:
    """Return the frame of the response to a success; before transactions v2 all are equal."""
    return frame_with_tail(correlation_id, _success_tail(version))


@lru_cache
def _success_tail(version: int) -> bytes:
    return frame_tail(EndTxnResponse(), version)


def _refused(error_code: ErrorCode) -> Message:
    return EndTxnResponse(error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle)
