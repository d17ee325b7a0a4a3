"""The share session of a member with one broker: fetches, and the acknowledgements of what they acquired."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.request_context import ConnectionInfo
from broker_sim.share_partitions.record_states import AcknowledgeType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import share_acknowledge, share_fetch
from tests.broker_sim.share_partitions.share_cluster import GROUP, LOCK_MS, PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.broker_sim.share_partitions.delivery_history import Hold
    from tests.broker_sim.share_partitions.share_client import ShareClient

PROCESS_MS: Final = 100
POLL_MS: Final = 50
RETRY_MS: Final = 200
MAX_WAIT_MS: Final = 500
REQUEST_MS: Final = 20_000
MIX: Final = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.ACCEPT,
    AcknowledgeType.REJECT,
    AcknowledgeType.GAP,
    None,
)
MOVED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
Types = dict[int, AcknowledgeType]


class ShareClientSession:
    """One session; a lost connection ends it, and a new one begins."""

    def __init__(self, client: ShareClient, broker_id: int) -> None:
        self._client = client
        self._broker_id = broker_id
        self._incarnation = 0
        self._connect()

    def _connect(self) -> None:
        self._incarnation += 1
        name = f"{self._client.name}-{self._broker_id}-{self._incarnation}"
        self._connection = ConnectionInfo(connection_id=name, client_host="127.0.0.1")
        self._epoch = 0
        self._requests = 0
        self._partitions: set[int] = set()
        self._outbox: dict[int, Types] = {}
        self._later(POLL_MS, self._poll)

    def disconnect(self, *, noticed: bool = True) -> None:
        """Close the connection; a broker that runs releases what the member has acquired."""
        self._incarnation += 1
        if noticed and self._is_running:
            self._ended()
            self._connection.close()

    def _ended(self) -> None:
        client = self._client
        found = [client.cluster.share_partition(index, self._broker_id) for index in range(PARTITIONS)]
        client.history.session_ended(client.name, [each for each in found if each is not None])

    def reconnect(self, *, noticed: bool = True) -> None:
        """Close the connection, and open another one."""
        self.disconnect(noticed=noticed)
        self._connect()

    def close(self) -> None:
        """Close the session in order."""
        if self._epoch > 0 and self._is_running:
            self._ended()
            request = share_acknowledge.ShareAcknowledgeRequest(
                group_id=GROUP, member_id=self._client.name, share_session_epoch=-1, topics=[]
            )
            self._client.cluster.send(self._broker_id, request, 2, self._connection)

    @property
    def _is_running(self) -> bool:
        return self._client.cluster.serves(self._broker_id)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Act after a delay, unless the connection is lost."""
        self._client.later(delay_ms, self._connected(action))

    def _connected(self, action: Callable[[], None]) -> Callable[[], None]:
        incarnation = self._incarnation

        def act() -> None:
            if self._incarnation == incarnation:
                action()

        return act

    # Requests.

    def _poll(self) -> None:
        if not self._is_running:
            self._client.forget_leaders()
            self._later(RETRY_MS, self._poll)
            return
        wanted = self._client.partitions_at(self._broker_id)
        acknowledged, self._outbox = self._outbox, {}
        if not self._epoch:
            self._client.cluster.keep_group(self._broker_id)
            acknowledged = {}  # a request that opens a session has no acknowledgements
        if not (wanted or acknowledged or self._partitions):
            self._later(RETRY_MS, self._poll)
            return
        self._requests += 1
        if acknowledged and self._requests % 2:
            self._send(self._acknowledge_request(acknowledged), acknowledged, self._acknowledged)
        else:
            self._send(self._fetch_request(wanted, acknowledged), acknowledged, self._fetched)

    def _send(self, request: Any, acknowledged: Mapping[int, Types], handle: Callable[[Any], dict[int, int]]) -> None:
        client, history = self._client, self._client.history
        held = {index: history.sent(client.name, index, types) for index, types in acknowledged.items()}
        sent_at_s = client.cluster.reactor.seconds()

        def received(response: Any) -> None:
            if not hasattr(response, "error_code"):
                self.reconnect()
                return
            if response.error_code:
                self._failed(response.error_code)
                return
            errors = handle(response)
            for index, types in acknowledged.items():
                if not errors.get(index, 0):
                    self._succeeded(index, types, held[index], sent_at_s)
            self._later(POLL_MS, self._poll)

        connected = self._incarnation
        client.request(
            self._broker_id,
            request,
            2,
            received=lambda response: received(response) if self._incarnation == connected else None,
            lost=self._connected(self.reconnect),
            timeout_ms=REQUEST_MS,
            connection=self._connection,
        )

    def _failed(self, error_code: int) -> None:
        if error_code not in (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH):
            self._client.history.violate(f"{self._client.name} has error {error_code} from broker {self._broker_id}")
        self._epoch = 0
        self._partitions.clear()
        self._later(RETRY_MS, self._poll)

    def _next_epoch(self) -> int:
        epoch = self._epoch
        self._epoch += 1
        return epoch

    def _acknowledge_request(self, acknowledged: Mapping[int, Types]) -> Any:
        return share_acknowledge.ShareAcknowledgeRequest(
            group_id=GROUP,
            member_id=self._client.name,
            share_session_epoch=self._next_epoch(),
            is_renew_ack=_renews(acknowledged),
            topics=[
                share_acknowledge.AcknowledgeTopic(
                    topic_id=self._client.cluster.topic_id,
                    partitions=[
                        share_acknowledge.AcknowledgePartition(
                            partition_index=index,
                            acknowledgement_batches=_batches(share_acknowledge.AcknowledgementBatch, types),
                        )
                        for index, types in acknowledged.items()
                    ],
                )
            ],
        )

    def _fetch_request(self, wanted: list[int], acknowledged: Mapping[int, Types]) -> Any:
        limits = self._client.limits
        renews = _renews(acknowledged)
        added = [index for index in wanted if index not in self._partitions]
        forgotten = sorted(self._partitions - set(wanted))
        self._partitions = set(wanted)
        partitions = [
            share_fetch.FetchPartition(
                partition_index=index,
                acknowledgement_batches=_batches(share_fetch.AcknowledgementBatch, acknowledged.get(index, {})),
            )
            for index in dict.fromkeys([*added, *acknowledged])
        ]
        topic_id = self._client.cluster.topic_id
        return share_fetch.ShareFetchRequest(
            group_id=GROUP,
            member_id=self._client.name,
            share_session_epoch=self._next_epoch(),
            max_wait_ms=0 if renews else MAX_WAIT_MS,
            min_bytes=0 if renews else 1,
            max_bytes=0 if renews else 1 << 20,
            max_records=0 if renews else limits.max_records,
            batch_size=limits.batch_size,
            share_acquire_mode=int(limits.exact),
            is_renew_ack=renews,
            topics=[share_fetch.FetchTopic(topic_id=topic_id, partitions=partitions)] if partitions else [],
            forgotten_topics_data=[share_fetch.ForgottenTopic(topic_id=topic_id, partitions=forgotten)]
            if forgotten
            else [],
        )

    # Responses.

    def _acknowledged(self, response: Any) -> dict[int, int]:
        errors = {each.partition_index: each.error_code for topic in response.responses for each in topic.partitions}
        self._forget_moved(errors)
        return errors

    def _fetched(self, response: Any) -> dict[int, int]:
        errors: dict[int, int] = {}
        delay_ms = PROCESS_MS + (LOCK_MS if self._client.handling.name == "LATE" else 0)
        for topic in response.responses:
            for each in topic.partitions:
                errors[each.partition_index] = each.acknowledge_error_code
                self._forget_moved({each.partition_index: each.error_code})
                for acquired in each.acquired_records:
                    offsets = range(acquired.first_offset, acquired.last_offset + 1)
                    self._later(delay_ms, partial(self._handle, each.partition_index, offsets))
        self._forget_moved(errors)
        return errors

    def _forget_moved(self, errors: Mapping[int, int]) -> None:
        for index, error_code in errors.items():
            if error_code in MOVED:
                self._client.forget_leader(index)
                self._partitions.discard(index)

    def _handle(self, index: int, offsets: range) -> None:
        """Decide about acquired records by the member's way to handle them; some are kept until their lock expires."""
        handling = self._client.handling.name
        for place, offset in enumerate(offsets):
            if handling == "MIXED":
                kind = MIX[(offset + place + self._requests) % len(MIX)]
            elif handling == "HOLD":
                kind = None
            else:
                kind = AcknowledgeType["ACCEPT" if handling == "LATE" else handling]
            if kind is not None:
                self._outbox.setdefault(index, {})[offset] = kind

    def _succeeded(self, index: int, types: Types, held: Mapping[int, Hold], sent_at_s: float) -> None:
        client = self._client
        share_partition = client.cluster.share_partition(index, self._broker_id)
        start_offset = 0 if share_partition is None else share_partition.start_offset
        client.history.succeeded(client.name, index, types, held, sent_at_s, start_offset)
        for offset, kind in types.items():
            if kind is AcknowledgeType.RENEW:
                self._outbox.setdefault(index, {})[offset] = AcknowledgeType.ACCEPT


def _renews(acknowledged: Mapping[int, Types]) -> bool:
    return any(AcknowledgeType.RENEW in types.values() for types in acknowledged.values())


def _batches(batch: Callable[..., Any], types: Types) -> list[Any]:
    """Return ranges of neighbours, with one type for all where they are equal."""
    ranges: list[list[int]] = []
    for offset in sorted(types):
        if ranges and ranges[-1][-1] + 1 == offset:
            ranges[-1].append(offset)
        else:
            ranges.append([offset])
    batches = []
    for offsets in ranges:
        kinds = [types[offset] for offset in offsets]
        listed = kinds[:1] if len(set(kinds)) == 1 else kinds
        batches.append(batch(first_offset=offsets[0], last_offset=offsets[-1], acknowledge_types=listed))
    return batches
