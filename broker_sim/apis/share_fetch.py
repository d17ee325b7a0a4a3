"""ShareFetch (api key 78): acquire records of a share group, and acknowledge earlier ones (KIP-932).

Mirrors KafkaApis.handleShareFetchRequest.

Versions: v1 limits records and batches. v2 has the acquire mode (KIP-1206) and renews acquisition locks (KIP-1222).
- Epoch 0 opens a session with all partitions; later requests name changes; -1 closes it, and fetches nothing.
- Acknowledgements run first. Their errors are beside those of the fetch.
- Without an error a later response names only partitions with records, or those that are new in the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred, fail, succeed

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.leader_endpoints import LeaderEndpoints
from broker_sim.apis.partition_order import mutable_order
from broker_sim.apis.share_requests import MOVED, Acknowledgements, Topics, is_broken_by_unknown_topic, refusal
from broker_sim.replication.requests import FetchParams
from broker_sim.share_partitions.delayed_share_fetch import ShareFetch
from broker_sim.share_partitions.share_error import BrokenAcknowledgement, ShareError, share_error
from broker_sim.share_partitions.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey, TopicIdPartition
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import uuid_hash
from protocol_specs.messages.share_fetch import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.python.failure import Failure

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.apis.share_requests import Results
    from broker_sim.share_partitions.share_sessions import ShareSession
    from protocol_specs.message import Message
    from protocol_specs.messages.share_fetch import ShareFetchRequest

ACQUIRE_MODES: Final = (0, 1)
RECORD_LIMIT_MODE: Final = 1
SESSIONS_MAX: Final = "group.share.max.share.sessions"
_Data = dict[TopicIdPartition, PartitionData]


def handle(request: ShareFetchRequest, context: RequestContext) -> HandlerResult:
    """Acknowledge and fetch; respond when both are complete."""
    refused = refusal(request, context) or _bad_renewal(request)
    if refused is not None:
        return ShareFetchResponse(error_code=refused)
    assert request.group_id is not None
    assert request.member_id is not None
    key = SessionKey(request.group_id, request.member_id)
    try:
        session = _session(request, key, context)
    except ShareError as error:
        failed: Message = ShareFetchResponse(error_code=error.error_code)
        if error.error_code is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            return context.broker.share_partitions.idle(request.max_wait_ms).addCallback(lambda _: failed)
        return failed
    if is_broken_by_unknown_topic(request, context):
        return ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    try:
        return _ShareFetchRequest(request, context, key, session).run()
    except BrokenAcknowledgement:
        return ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


def _bad_renewal(request: ShareFetchRequest) -> ErrorCode | None:
    """A request that renews locks fetches nothing, so that it has no limits."""
    limits = (request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)
    return ErrorCode.INVALID_REQUEST if request.is_renew_ack and any(limits) else None


def _session(request: ShareFetchRequest, key: SessionKey, context: RequestContext) -> ShareSession | None:
    """Return the session at the epoch of the request, None for the final one. Mirrors newContext.

    Raises:
        ShareError: The session does not exist or expects another epoch, or none can be opened.
    """
    manager = context.broker.share_partitions
    sessions = manager.sessions
    epoch = request.share_session_epoch
    if epoch == FINAL_EPOCH:
        sessions.get(key)
        return None
    named = [
        TopicIdPartition(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions
    ]
    if epoch != INITIAL_EPOCH:
        session = sessions.at_epoch(key, epoch)
        forgotten = [
            TopicIdPartition(topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ]
        session.update(named, forgotten)
        session.next_epoch()
        return session
    if any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions):
        raise ShareError(ErrorCode.INVALID_REQUEST)
    limit = context.broker.config[SESSIONS_MAX]
    assert isinstance(limit, int)
    connection = context.connection
    session = sessions.open(key, named, connection.connection_id, limit=limit)
    connection.when_closed["share session"] = lambda: manager.connection_closed(key, connection.connection_id)
    return session


class _ShareFetchRequest:
    """One request in progress; `session` is None for the one that closes it."""

    def __init__(
        self, request: ShareFetchRequest, context: RequestContext, key: SessionKey, session: ShareSession | None
    ) -> None:
        self._request = request
        self._context = context
        self._key = key
        self._session = session
        self._topics = Topics(context)
        self._manager = context.broker.share_partitions

    def run(self) -> Deferred[Message]:
        acknowledged = self._acknowledge()
        fetched = self._fetch()

        def respond(data: _Data) -> Deferred[Message]:
            return acknowledged.addCallback(lambda results: self._response(data, results))

        return fetched.addCallback(respond).addErrback(_failed)

    def _acknowledge(self) -> Deferred[Results]:
        request = self._request
        if not any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions):
            return succeed({})
        return Acknowledgements.of(request, self._context).run(self._key, self._context)

    def _fetch(self) -> Deferred[_Data]:
        request, session = self._request, self._session
        if session is None or request.is_renew_ack:
            return succeed({})
        refused: _Data = {}
        interesting: list[tuple[TopicIdPartition, str]] = []
        for key in session.partitions:
            error = self._topics.error(key)
            name = self._topics.name(key.topic_id)
            if error is not None:
                refused[key] = PartitionData(partition_index=key.partition, error_code=error, records=b"")
            elif name is not None:
                interesting.append((key, name))
        if not interesting:
            return succeed({key: refused[key] for key in self._topics.mutable_order(refused)})
        if request.share_acquire_mode not in ACQUIRE_MODES:
            return fail(ShareError(ErrorCode.UNKNOWN_SERVER_ERROR))
        fetched = self._manager.fetch(self._share_fetch(), self._rotated(interesting))

        def combined(data: _Data) -> _Data:
            both = {**data, **refused}
            return {key: both[key] for key in self._topics.immutable_order(both)}

        return fetched.addCallback(combined)

    def _share_fetch(self) -> ShareFetch:
        request, config = self._request, self._context.broker.config
        max_bytes = min(request.max_bytes, config.fetch_max_bytes)
        return ShareFetch(
            group_id=self._key.group_id,
            member_id=self._key.member_id,
            params=FetchParams(
                max_wait_ms=request.max_wait_ms,
                min_bytes=min(request.min_bytes, max_bytes),
                max_bytes=max_bytes,
                isolation=self._manager.settings.isolation(self._key.group_id),
            ),
            record_limit=request.share_acquire_mode == RECORD_LIMIT_MODE,
            max_records=request.max_records,
            batch_size=request.batch_size,
        )

    def _has_unknown_topic(self, partitions: Iterable[TopicIdPartition]) -> bool:
        """Return True if a topic id is unknown: a null name is an error in Kafka, also where the response has it."""
        return any(self._topics.name(key.topic_id) is None for key in partitions)

    def _rotated(self, partitions: list[tuple[TopicIdPartition, str]]) -> list[tuple[TopicIdPartition, str]]:
        """Begin with another partition at each epoch. Mirrors PartitionRotateStrategy."""
        epoch = self._request.share_session_epoch
        begin = epoch % len(partitions) if epoch > 0 else 0
        return partitions[begin:] + partitions[:begin]

    def _response(self, fetched: _Data, acknowledged: Results) -> Message:
        leaders = LeaderEndpoints(self._context)
        for key, data in fetched.items():
            name = self._topics.name(key.topic_id)
            if data.error_code in MOVED and name is not None:
                leader_id, leader_epoch = leaders.of(TopicPartition(name, key.partition))
                data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
        responses: dict[bytes, dict[int, PartitionData]] = {}
        named = self._named(fetched)
        if self._has_unknown_topic(named):
            raise ShareError(ErrorCode.UNKNOWN_SERVER_ERROR)
        for key, data in named.items():
            responses.setdefault(key.topic_id, {})[key.partition] = data
        self._add_acknowledged(responses, acknowledged)
        if self._session is None:
            self._manager.release_session(self._key)
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=self._manager.settings.record_lock_ms(self._key.group_id),
            responses=[
                ShareFetchableTopicResponse(topic_id=topic_id, partitions=list(partitions.values()))
                for topic_id, partitions in responses.items()
            ],
            node_endpoints=[
                NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in leaders.listed()
            ],
        )

    def _named(self, fetched: _Data) -> _Data:
        """Return the partitions that the response names. Mirrors CachedSharePartition.maybeUpdateResponseData."""
        session = self._session
        if session is None or self._request.share_session_epoch == INITIAL_EPOCH:
            return fetched
        named: _Data = {}
        for key, data in fetched.items():
            is_new = session.partitions.get(key, False)
            if not (data.records or is_new or data.error_code):
                continue
            named[key] = data
            if key in session.partitions:
                if data.records:
                    del session.partitions[key]  # a partition with records is fetched last in the next epoch
                session.partitions[key] = bool(data.error_code)
        return named

    def _add_acknowledged(self, responses: dict[bytes, dict[int, PartitionData]], acknowledged: Results) -> None:
        by_topic: dict[bytes, dict[int, ShareError | None]] = {}
        for key, error in acknowledged.items():
            by_topic.setdefault(key.topic_id, {})[key.partition] = error
        listed = [topic_id for topic_id in responses if topic_id in by_topic]
        others = [topic_id for topic_id in by_topic if topic_id not in responses]
        for topic_id in [*listed, *mutable_order(others, uuid_hash)]:
            partitions = responses.setdefault(topic_id, {})
            errors = by_topic[topic_id]
            missing = [index for index in errors if index not in partitions]
            for index in mutable_order(missing, int):
                partitions[index] = PartitionData(partition_index=index, records=b"")
            for index, error in errors.items():
                if error is not None:
                    partitions[index].acknowledge_error_code = error.error_code
                    partitions[index].acknowledge_error_message = error.text


def _failed(failure: Failure) -> Message:
    return ShareFetchResponse(error_code=share_error(failure).error_code)


HANDLER: Final = ApiHandler(handle=handle)
