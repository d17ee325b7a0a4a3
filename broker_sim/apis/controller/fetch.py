"""Fetch (api key 1) at a controller: the metadata log (KIP-595). Mirrors KafkaRaftClient.handleFetchRequest.

Brokers and voters of the cluster fetch by reference, over links. Over TCP the leader alone serves the log, as bytes,
and with uncommitted records. A fetch without new records waits, at the longest for the next NoOpRecord, which an idle
controller writes each metadata.max.idle.interval.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller, controller_view
from broker_sim.apis.controller.quorum_responses import node_endpoints, refusal_of_leader
from broker_sim.apis.handler_result import NoResponse
from broker_sim.controller.controller_nodes import QuorumNode
from broker_sim.metadata.metadata_fetches import MetadataFetch
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from protocol_specs.uuids import METADATA_TOPIC_UUID

if TYPE_CHECKING:
    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.metadata.metadata_log import MetadataLog
    from protocol_specs.message import Message
    from protocol_specs.messages.fetch import FetchPartition, FetchRequest

METADATA_TOPIC: Final = "__cluster_metadata"
FETCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""KafkaRaftClient.MAX_FETCH_SIZE_BYTES, independent of the request."""
LOOK_AGAIN_MS: Final = 500
"""How long a fetch waits at most before the log is looked at again."""
NODE_ENDPOINTS_SINCE: Final = 17


def handle(request: FetchRequest, context: RequestContext) -> HandlerResult:
    """Read the metadata log: by reference for a broker or a voter on a link, as bytes over TCP."""
    if isinstance(request, MetadataFetch):
        return cast("HandlerResult", active_controller(context).fetch_metadata(request))
    server = controller_view(context)
    if context.replica_id >= 0:
        assert isinstance(server.node, QuorumNode), "only voters fetch without being brokers"
        return server.node.node.voter_request(request, context.replica_id)
    if request.cluster_id not in (None, server.cluster_id):
        return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    topics = request.topics
    if len(topics) != 1 or topics[0].topic_id != METADATA_TOPIC_UUID or len(topics[0].partitions) != 1:
        return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    requested = topics[0].partitions[0]
    if requested.partition != 0:
        return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    if (
        request.max_wait_ms < 0
        or requested.fetch_offset < 0
        or not 0 <= requested.last_fetched_epoch <= requested.current_leader_epoch
    ):
        return _response(context, PartitionData(error_code=ErrorCode.INVALID_REQUEST, high_watermark=-1))
    partition = _fetched(server, requested)
    if request.max_wait_ms == 0 or not _is_empty(partition):
        return _response(context, partition)
    waiting: Deferred[Message | NoResponse] = Deferred.fromCoroutine(_wait(request, requested, context))
    return waiting


async def _wait(request: FetchRequest, requested: FetchPartition, context: RequestContext) -> Message | NoResponse:
    server = controller_view(context)
    due_s = server.reactor.seconds() + request.max_wait_ms / 1000
    while True:
        left_s = due_s - server.reactor.seconds()
        await server.growth(min(left_s, LOOK_AGAIN_MS / 1000))
        if context.connection.closed:
            return NoResponse.NO_OP
        partition = _fetched(server, requested)
        if not _is_empty(partition) or server.reactor.seconds() >= due_s - 1e-6:
            return _response(context, partition)


def _is_empty(partition: PartitionData) -> bool:
    return not (
        partition.error_code
        or partition.records
        or partition.diverging_epoch.epoch >= 0
        or partition.snapshot_id.end_offset >= 0
    )


def _fetched(server: ControllerView, requested: FetchPartition) -> PartitionData:
    """Return the leader's result for a replica whose log ends at the requested offset."""
    error_code = refusal_of_leader(server.node, requested.current_leader_epoch)
    if error_code:
        return PartitionData(error_code=error_code, high_watermark=-1)
    log = server.node.controller.metadata_log
    log.write_no_ops()
    response = PartitionData(high_watermark=log.high_watermark)
    snapshot, offset, epoch = log.snapshot, requested.fetch_offset, requested.last_fetched_epoch
    if snapshot is not None and (offset < log.start_offset or offset == 0):
        response.snapshot_id = SnapshotId(end_offset=snapshot.id.end_offset, epoch=snapshot.id.epoch)
        return response
    if (offset, epoch) != (0, 0):
        end_offset, end_epoch = end_of_epoch(log, epoch)
        if end_epoch != epoch or end_offset < offset:
            response.diverging_epoch = EpochEndOffset(epoch=end_epoch, end_offset=end_offset)
            return response
    response.records = _records(log, offset)
    return response


def end_of_epoch(log: MetadataLog, epoch: int) -> tuple[int, int]:
    """Return the end offset of the highest epoch up to `epoch` in a log, and that epoch. Mirrors endOffsetForEpoch."""
    end_offset = log.end_offset
    batches = log.batches
    if not batches or epoch > batches[-1].leader_epoch:
        return end_offset, batches[-1].leader_epoch if batches else 0
    for batch in reversed(batches):
        if batch.leader_epoch <= epoch:
            return end_offset, batch.leader_epoch
        end_offset = batch.base_offset
    return end_offset, epoch


def _records(log: MetadataLog, offset: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for batch in log.batches:
        if batch.last_offset >= offset:
            data = batch.encode()
            if parts and size + len(data) > FETCH_BYTES_MAX:
                break
            parts.append(data)
            size += len(data)
    return b"".join(parts)


def _response(context: RequestContext, partition: PartitionData) -> FetchResponse:
    server = controller_view(context)
    node = server.node
    partition.partition_index = 0
    partition.log_start_offset = node.controller.metadata_log.start_offset
    partition.current_leader = LeaderIdAndEpoch(leader_id=node.leader_id, leader_epoch=node.epoch)
    if partition.records is None:
        partition.records = b""
    topic = FetchableTopicResponse(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_UUID, partitions=[partition])
    response = FetchResponse(responses=[topic])
    if context.api_version >= NODE_ENDPOINTS_SINCE:
        response.node_endpoints = [
            NodeEndpoint(node_id=node_id, host=host, port=port) for node_id, host, port in node_endpoints(server)
        ]
    return response


def error_response(request: FetchRequest, context: RequestContext, error_code: ErrorCode) -> FetchResponse:  # noqa: ARG001
    """The error alone."""
    return FetchResponse(error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
