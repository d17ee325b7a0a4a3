"""InitProducerId (api key 22): a producer id and epoch for an idempotent or a transactional producer (KIP-98).

Versions: v3 an id and epoch that the producer has (KIP-360): both or neither. v4 has PRODUCER_FENCED, where lower
versions have INVALID_PRODUCER_EPOCH. v6 has two-phase commits (KIP-939) and is served with unstable versions only. Any
broker serves producers without a transactional id; the first request of a broker's run is COORDINATOR_LOAD_IN_PROGRESS
while the broker fetches its block of ids; before 3.6 it waits for them.

Mirrors KafkaApis.handleInitProducerIdRequest and TransactionCoordinator.handleInitProducerId.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.transaction_requests import NewFencedError, responded
from broker_sim.coordinators.transactions.producers import NO_EPOCH, NO_PRODUCER_ID, ProducerIdAndEpoch, ProducerResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.init_producer_id import InitProducerIdRequest

TWO_PHASE_COMMIT: Final = "transaction.two.phase.commit.enable"
NO_TIMEOUT_MS: Final = 2**31 - 1
"""The time-out of transactions with two-phase commits, which only their producer ends."""

_FENCED: Final = NewFencedError(since=4)


def handle(request: InitProducerIdRequest, context: RequestContext) -> Message | Deferred[Message]:
    """Give the next id of this broker's block, or the next epoch of a transactional id."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return _without_transactions(context)
    if not request.transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    config = context.broker.config
    if request.enable2_pc and not config.values.get(TWO_PHASE_COMMIT):
        return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if request.keep_prepared_txn:
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    if not request.enable2_pc and not 0 < request.transaction_timeout_ms <= config.transaction_max_timeout_ms:
        return _refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    written = context.broker.coordinators.transactions.init_producer_id(
        request.transactional_id,
        NO_TIMEOUT_MS if request.enable2_pc else request.transaction_timeout_ms,
        None if request.producer_id == NO_PRODUCER_ID else expected,
        context.client_id or "",
    )
    return responded(
        written,
        (request.transactional_id, expected),
        context,
        lambda result: _response(result, context),
        lambda error_code: _refused(_FENCED.of(error_code, context)),
    )


def _without_transactions(context: RequestContext) -> Message | Deferred[Message]:
    config, ids = context.broker.config, context.broker.producer_ids
    if config.behaviour.producer_ids_are_waited_for:
        return ids.generate_within(config.request_timeout_ms).addCallback(_response_of)
    return _response_of(ids.generate())


def _response_of(producer_id: int | ErrorCode) -> Message:
    if isinstance(producer_id, ErrorCode):
        return _refused(producer_id)
    return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _response(result: ProducerResult, context: RequestContext) -> Message:
    return InitProducerIdResponse(
        error_code=_FENCED.of(result.error_code, context),
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
    )


def _refused(error_code: ErrorCode) -> Message:
    return InitProducerIdResponse(error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)


def error_response(
    request: InitProducerIdRequest,  # noqa: ARG001 - the response has nothing of it
    context: RequestContext,
    error_code: ErrorCode,
) -> Message:
    """The whole request fails."""
    epoch = 0 if context.behaviour.refused_producer_ids_have_epoch_0 else NO_EPOCH
    return InitProducerIdResponse(error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=epoch)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
