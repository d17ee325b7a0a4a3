"""AddOffsetsToTxn (api key 25): add the offsets of a group to a transaction (KIP-98).

It adds the partition of `__consumer_offsets` that has the group. Versions: v2 has PRODUCER_FENCED, where lower versions
have INVALID_PRODUCER_EPOCH. Producers of transactions v2 do not send it (KIP-890). Mirrors
KafkaApis.handleAddOffsetsToTxnRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.transaction_requests import NewFencedError, responded
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnRequest

_FENCED: Final = NewFencedError(since=2)


def handle(request: AddOffsetsToTxnRequest, context: RequestContext) -> Message | Deferred[Message]:
    """Add the partition of the group's offsets to the transaction."""
    if not request.transactional_id:
        return _response(ErrorCode.INVALID_REQUEST)
    coordinators = context.broker.coordinators
    partition = TopicPartition(GROUP_METADATA_TOPIC_NAME, coordinators.groups.partition_for(request.group_id))
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    return responded(
        coordinators.transactions.add_partitions(request.transactional_id, producer, [partition], client_version=0),
        (request.transactional_id, producer),
        context,
        lambda _: _response(ErrorCode.NONE),
        lambda error_code: _response(_FENCED.of(error_code, context)),
    )


def _response(error_code: ErrorCode) -> Message:
    return AddOffsetsToTxnResponse(error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle)
