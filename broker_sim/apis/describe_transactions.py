"""DescribeTransactions (api key 65): the state of transactional ids (KIP-664).

Versions: 0 in every release. Mirrors KafkaApis.handleDescribeTransactionsRequest and
TransactionCoordinator.handleDescribeTransactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.transactions.partition_sets import in_set_order
from broker_sim.coordinators.transactions.transaction_state import TransactionState as States
from broker_sim.security.acl import AclOperation, ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_transactions import DescribeTransactionsResponse, TopicData, TransactionState

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_transactions import DescribeTransactionsRequest


def handle(request: DescribeTransactionsRequest, context: RequestContext) -> DescribeTransactionsResponse:
    """Return one state, or an error, per id."""
    return DescribeTransactionsResponse(
        transaction_states=[_state(transactional_id, context) for transactional_id in request.transactional_ids]
    )


def _state(transactional_id: str, context: RequestContext) -> TransactionState:
    if not context.may(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return TransactionState(transactional_id=transactional_id, error_code=denied)
    if not transactional_id:
        return TransactionState(transactional_id=transactional_id, error_code=ErrorCode.INVALID_REQUEST)
    try:
        metadata = context.broker.coordinators.transactions.metadata_of(transactional_id)
    except CoordinatorError as error:
        return TransactionState(transactional_id=transactional_id, error_code=error.error_code)
    if metadata is None or metadata.state is States.DEAD:
        return TransactionState(transactional_id=transactional_id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    topics: dict[str, TopicData] = {}
    java = context.behaviour.transactions_are_in_java_sets
    for topic, index in in_set_order(metadata.partitions, java=java):
        if context.may(AclOperation.DESCRIBE, ResourceType.TOPIC, topic):
            topics.setdefault(topic, TopicData(topic=topic, partitions=[])).partitions.append(index)
    return TransactionState(
        transactional_id=transactional_id,
        error_code=ErrorCode.NONE,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_state=metadata.state.label,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        topics=list(topics.values()),
    )


def error_response(
    request: DescribeTransactionsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DescribeTransactionsResponse:
    """Every id has the error. Mirrors DescribeTransactionsRequest.getErrorResponse."""
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(transactional_id=transactional_id, error_code=error_code)
            for transactional_id in request.transactional_ids
        ]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
