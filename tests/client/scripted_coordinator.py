"""A transaction coordinator for the scripted cluster: each request takes the next error of its script, or is obeyed.

It keeps what Kafka's keeps that a producer can see: producer ids and epochs by transactional id, the partitions and
offsets of the open transaction, and what was committed. Transaction markers are not written: a test reads `committed`.
"""

# ruff: noqa: ARG002
# All handlers have one signature.

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

from broker_client.records import TopicPartition
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
from tests.client.scripted_broker import INIT_PRODUCER_ID, PORT, ScriptedBroker, ScriptedCluster, SeenRequest

FIND_COORDINATOR, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 10, 24, 25, 26, 28
TRANSACTIONAL_APIS = (FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT)
NAMES = {
    0: "Produce",
    FIND_COORDINATOR: "FindCoordinator",
    INIT_PRODUCER_ID: "InitProducerId",
    ADD_PARTITIONS: "AddPartitionsToTxn",
    ADD_OFFSETS: "AddOffsetsToTxn",
    END_TXN: "EndTxn",
    TXN_OFFSET_COMMIT: "TxnOffsetCommit",
}


@dataclass(slots=True, kw_only=True)
class Identity:
    """The state of a transactional id."""

    producer_id: int
    epoch: int = 0
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    # The epoch and outcome of the last EndTxn, which is obeyed again if its response was lost.
    last_end: tuple[int, bool] | None = None


class ScriptedCoordinator:
    """Broker `leader` coordinates everything; `script[api key]` holds the errors of the next responses."""

    def __init__(self, cluster: ScriptedCluster, *, transaction_version: int = 0, leader: int = 1) -> None:
        self.cluster = cluster
        self.leader = leader
        self.script: dict[int, deque[ErrorCode]] = defaultdict(deque)
        self.silent: set[int] = set()
        # By api key: the number of requests that are obeyed without a response.
        self.lost_responses: Counter[int] = Counter()
        self.identities: dict[str, Identity] = {}
        self.ended: list[bool] = []
        self.committed_offsets: dict[TopicPartition, int] = {}
        if transaction_version:
            cluster.finalized_features["transaction.version"] = transaction_version
            cluster.finalized_features_epoch = 1
        self.obey = {
            FIND_COORDINATOR: self.find_coordinator,
            INIT_PRODUCER_ID: self.init_producer_id,
            ADD_PARTITIONS: self.add_partitions,
            ADD_OFFSETS: self.add_offsets,
            END_TXN: self.end_txn,
            TXN_OFFSET_COMMIT: self.txn_offset_commit,
        }
        for key in TRANSACTIONAL_APIS:
            cluster.handlers[key] = lambda broker, request, version, key=key: self.handle(key, broker, request, version)

    @property
    def requested(self) -> list[str]:
        """The names of the requests in order, without connections and metadata."""
        return [NAMES[seen.api_key] for seen in self.cluster.seen if seen.api_key in NAMES]

    def requests(self, api_key: int) -> list[SeenRequest]:
        return self.cluster.requests(api_key)

    def handle(self, key: int, broker: ScriptedBroker, request: Any, version: int) -> Any:
        if key in self.silent:
            return None
        script = self.script[key]
        code = script.popleft() if script else ErrorCode.NONE
        if code is ErrorCode.NONE and key != FIND_COORDINATOR and broker.number != self.leader:
            code = ErrorCode.NOT_COORDINATOR
        response = self.obey[key](request, version, code)
        if self.lost_responses[key] > 0:
            self.lost_responses[key] -= 1
            return None
        return response

    def find_coordinator(self, request: Any, version: int, code: ErrorCode) -> Any:
        host = f"broker-{self.leader}"
        if version < 4:
            return FindCoordinatorResponse(error_code=code, node_id=self.leader, host=host, port=PORT)
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, error_code=code, node_id=self.leader, host=host, port=PORT)
                for key in request.coordinator_keys
            ]
        )

    def init_producer_id(self, request: Any, version: int, code: ErrorCode) -> Any:
        if code:
            return InitProducerIdResponse(error_code=code)
        name = request.transactional_id
        known = self.identities.get(name)
        if known is None:
            self.cluster.next_producer_id += 1
            known = self.identities[name] = Identity(producer_id=self.cluster.next_producer_id - 1)
        elif request.producer_epoch >= 0 and request.producer_epoch == known.epoch - 1:
            pass  # sent again
        elif request.producer_epoch >= 0 and request.producer_epoch != known.epoch:
            return InitProducerIdResponse(error_code=ErrorCode.PRODUCER_FENCED)
        else:
            known.epoch += 1
            known.partitions.clear()
        return InitProducerIdResponse(producer_id=known.producer_id, producer_epoch=known.epoch)

    def fencing(self, request: Any, prefix: str = "") -> ErrorCode:
        known = self.identities[getattr(request, f"{prefix}transactional_id")]
        same = getattr(request, f"{prefix}producer_epoch") == known.epoch
        return ErrorCode.NONE if same else ErrorCode.PRODUCER_FENCED

    def add_partitions(self, request: Any, version: int, code: ErrorCode) -> Any:
        code = code or self.fencing(request, "v3_and_below_")
        if not code:
            known = self.identities[request.v3_and_below_transactional_id]
            for topic in request.v3_and_below_topics:
                for partition in topic.partitions:
                    known.partitions[TopicPartition(topic.name, partition)] = None
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                ResponseAddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        ResponseAddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                        for index in topic.partitions
                    ],
                )
                for topic in request.v3_and_below_topics
            ]
        )

    def add_offsets(self, request: Any, version: int, code: ErrorCode) -> Any:
        return AddOffsetsToTxnResponse(error_code=code or self.fencing(request))

    def txn_offset_commit(self, request: Any, version: int, code: ErrorCode) -> Any:
        code = code or self.fencing(request)
        known = self.identities[request.transactional_id]
        for topic in request.topics if not code else []:
            for partition in topic.partitions:
                known.offsets[TopicPartition(topic.name, partition.partition_index)] = partition.committed_offset
        return TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        TxnOffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def end_txn(self, request: Any, version: int, code: ErrorCode) -> Any:
        known = self.identities[request.transactional_id]
        again = known.last_end == (request.producer_epoch, request.committed) and not (
            known.partitions or known.offsets
        )
        code = code or (ErrorCode.NONE if again else self.fencing(request))
        if code:
            return EndTxnResponse(error_code=code)
        if again and request.producer_epoch != known.epoch:
            return EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch)
        known.last_end = request.producer_epoch, request.committed
        self.ended.append(request.committed)
        if request.committed:
            self.committed_offsets.update(known.offsets)
        known.offsets.clear()
        known.partitions.clear()
        if version < 5:
            return EndTxnResponse()
        known.epoch += 1
        return EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch)
