"""The transaction and group coordinators of a script's cluster, with the state that a producer can observe.

Producer ids and epochs by transactional id, and how the last transaction ended: an EndTxn whose response was lost is
obeyed again. From version 5 on EndTxn begins the next epoch (KIP-890). Transaction markers are not written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnResponse,
    ResponseAddPartitionsToTxnPartitionResult,
    ResponseAddPartitionsToTxnTopicResult,
)
from protocol_specs.messages.end_txn import EndTxnResponse
from protocol_specs.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from protocol_specs.messages.init_producer_id import InitProducerIdResponse
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.client.producer_script import Response
    from tests.client.script_cluster import Place, Request

KINDS = ("group", "transaction")
FIRST_BATCHED_FIND_COORDINATOR = 4
FIRST_END_TXN_THAT_BUMPS = 5


@dataclass(slots=True, kw_only=True)
class Identity:
    """The state of a transactional id."""

    producer_id: int
    epoch: int = 0
    # The epoch and the outcome of the last EndTxn.
    last_end: tuple[int, bool] | None = None


class ScriptCoordinator:
    """`brokers`: the coordinators of transactions and of groups."""

    def __init__(self, places: Mapping[int, Place]) -> None:
        self.places = places
        self.brokers = dict.fromkeys(KINDS, 1)
        self.identities: dict[str, Identity] = {}
        self.next_producer_id = 1000

    def respond(self, request: Request, scripted: Response) -> Any:
        code = scripted.error
        if code is ErrorCode.NONE and not self._is_coordinated_by(request):
            code = ErrorCode.NOT_COORDINATOR
        obeys = scripted.appends or not (code or scripted.lost or scripted.disconnects)
        return getattr(self, _HANDLERS[request.api])(request, scripted, code, obeys=obeys)

    def _is_coordinated_by(self, request: Request) -> bool:
        if request.api == "FindCoordinator":
            return True
        if request.api == "InitProducerId" and request.body.transactional_id is None:
            return True
        return self.brokers["group" if request.api == "TxnOffsetCommit" else "transaction"] == request.broker

    def find_coordinator(self, request: Request, scripted: Response, code: ErrorCode, *, obeys: bool) -> Any:  # noqa: ARG002
        body = request.body
        number = self.brokers[KINDS[body.key_type]]
        place = self.places[number]
        if request.version < FIRST_BATCHED_FIND_COORDINATOR:
            return FindCoordinatorResponse(error_code=code, node_id=number, host=place.host, port=place.port)
        found = [
            Coordinator(key=key, error_code=code, node_id=number, host=place.host, port=place.port)
            for key in body.coordinator_keys
        ]
        return FindCoordinatorResponse(coordinators=found)

    def init_producer_id(self, request: Request, scripted: Response, code: ErrorCode, *, obeys: bool) -> Any:
        body = request.body
        if code and not obeys:
            return InitProducerIdResponse(error_code=code)
        known = self.identities.get(body.transactional_id)
        if known is None:
            known = Identity(producer_id=self.next_producer_id)
            self.next_producer_id += 1
            if obeys and body.transactional_id is not None:
                self.identities[body.transactional_id] = known
        elif body.producer_epoch not in (-1, known.epoch - 1, known.epoch):
            code = code or ErrorCode.PRODUCER_FENCED
        elif obeys and body.producer_epoch in (-1, known.epoch):
            known.epoch += 1
        if obeys and scripted.producer is not None:
            known.producer_id, known.epoch = scripted.producer
        if code:
            return InitProducerIdResponse(error_code=code)
        return InitProducerIdResponse(producer_id=known.producer_id, producer_epoch=known.epoch)

    def add_partitions(self, request: Request, scripted: Response, code: ErrorCode, *, obeys: bool) -> Any:  # noqa: ARG002
        body = request.body
        fenced = self._fenced(body.v3_and_below_transactional_id, body.v3_and_below_producer_epoch)
        topics = [
            ResponseAddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    ResponseAddPartitionsToTxnPartitionResult(
                        partition_index=index,
                        partition_error_code=_of(scripted, code, topic.name, index) or fenced,
                    )
                    for index in topic.partitions
                ],
            )
            for topic in body.v3_and_below_topics
        ]
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)

    def add_offsets(self, request: Request, scripted: Response, code: ErrorCode, *, obeys: bool) -> Any:  # noqa: ARG002
        body = request.body
        return AddOffsetsToTxnResponse(error_code=code or self._fenced(body.transactional_id, body.producer_epoch))

    def txn_offset_commit(self, request: Request, scripted: Response, code: ErrorCode, *, obeys: bool) -> Any:  # noqa: ARG002
        body = request.body
        fenced = self._fenced(body.transactional_id, body.producer_epoch)
        topics = [
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=one.partition_index,
                        error_code=_of(scripted, code, topic.name, one.partition_index) or fenced,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in body.topics
        ]
        return TxnOffsetCommitResponse(topics=topics)

    def end_txn(self, request: Request, scripted: Response, code: ErrorCode, *, obeys: bool) -> Any:
        body = request.body
        known = self.identities[body.transactional_id]
        again = known.last_end == (body.producer_epoch, body.committed)
        code = code or (ErrorCode.NONE if again else self._fenced(body.transactional_id, body.producer_epoch))
        bumps = request.version >= FIRST_END_TXN_THAT_BUMPS
        if obeys and not again:
            known.last_end = body.producer_epoch, body.committed
            known.epoch += bumps
            if scripted.producer is not None:
                known.producer_id, known.epoch = scripted.producer
        if code or not bumps:
            return EndTxnResponse(error_code=code)
        return EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch)

    def _fenced(self, transactional_id: str, epoch: int) -> ErrorCode:
        same = self.identities[transactional_id].epoch == epoch
        return ErrorCode.NONE if same else ErrorCode.PRODUCER_FENCED


def _of(scripted: Response, code: ErrorCode, topic: str, partition: int) -> ErrorCode:
    """The error of one partition; the coordinator did not try those that the script does not name."""
    if not code or not scripted.partitions or f"{topic}-{partition}" in scripted.partitions:
        return code
    return ErrorCode.NONE


_HANDLERS = {
    "FindCoordinator": "find_coordinator",
    "InitProducerId": "init_producer_id",
    "AddPartitionsToTxn": "add_partitions",
    "AddOffsetsToTxn": "add_offsets",
    "TxnOffsetCommit": "txn_offset_commit",
    "EndTxn": "end_txn",
}
