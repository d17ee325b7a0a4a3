"""ListTransactions (api key 66): the transactional ids that a broker coordinates (KIP-664).

Versions: v1 filters by duration (KIP-994). v2 filters by a pattern of the transactional id (KIP-1152). Names of states
that Kafka does not have are returned apart; a filter of such names alone matches nothing. Mirrors
KafkaApis.handleListTransactionsRequest and TransactionStateManager.listTransactionStates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.partition_order import immutable_order
from broker_sim.coordinators.transactions.transaction_state import TransactionState as State
from broker_sim.regular_expressions.matching import InvalidRegex, TooManyPlaces, check_regex, matching_texts
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import string_hash
from protocol_specs.messages.list_transactions import ListTransactionsResponse, TransactionState

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.transactions.transaction_metadata import TransactionMetadata
    from protocol_specs.messages.list_transactions import ListTransactionsRequest


def handle(request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    """Return the ids that pass all filters."""
    transactions = context.broker.coordinators.transactions
    if transactions.is_loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    labels = list(dict.fromkeys(request.state_filters))
    unknown = [label for label in immutable_order(labels, string_hash) if State.of_label(label) is None]
    now_ms = context.broker.now_ms()
    pattern = request.transactional_id_pattern
    try:
        if pattern:
            check_regex(pattern)
    except InvalidRegex:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    try:
        found = [each for each in transactions.all_metadata if _passes(each, request, now_ms)]
    except TooManyPlaces:
        return ListTransactionsResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            TransactionState(
                transactional_id=metadata.transactional_id,
                producer_id=metadata.producer_id,
                transaction_state=metadata.state.label,
            )
            for metadata in found
        ],
    )


def _passes(metadata: TransactionMetadata, request: ListTransactionsRequest, now_ms: int) -> bool:
    if metadata.state is State.DEAD:
        return False
    if request.producer_id_filters and metadata.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and metadata.state.label not in request.state_filters:
        return False
    if request.duration_filter >= 0 and now_ms - metadata.start_ms <= request.duration_filter:
        return False
    pattern = request.transactional_id_pattern
    return not pattern or bool(matching_texts(pattern, [metadata.transactional_id]))


HANDLER: Final = ApiHandler(handle=handle)
