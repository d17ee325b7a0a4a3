"""The metadata quorum of combined nodes in responses to clients. Mirrors LeaderState and AddVoterHandler.

Every broker is a voter too, and the lowest id leads. The voters are static until kraft.version is raised to 1
(KIP-853), and only then have directory ids. A controller without a listener has its broker's host, with another port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from protocol_specs.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from protocol_specs.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from protocol_specs.uuids import ZERO_UUID, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.controller.controller import Controller
    from broker_sim.metadata.metadata_image import ControllerRegistration

METADATA_TOPIC: Final = "__cluster_metadata"
LISTENER_NAME: Final = "CONTROLLER"
PORT_OFFSET: Final = 100
PORT_MAX: Final = 65_535
UUID_BYTES: Final = 16
KRAFT_VERSION: Final = "kraft.version"


class QuorumDescription:
    """Serves the quorum APIs that brokers forward; `voters` are the brokers' ids."""

    __slots__ = ("_controller", "_directories", "_nodes", "_observers", "_voters")

    def __init__(self, controller: Controller, *, voters: Sequence[int], random: Random) -> None:
        self._controller = controller
        self._voters = list(voters)
        self._observers: list[int] = []
        self._nodes: dict[int, Node] = {}
        self._directories = {voter: random.randbytes(UUID_BYTES) for voter in voters}

    @property
    def leader_id(self) -> int:
        """The node that leads the metadata log."""
        return min(self._voters)

    def describe(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        """Return the state of the metadata partition, if the request names it alone."""
        requested = [
            (topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in request.topics
        ]
        if requested != [(METADATA_TOPIC, [0])]:
            error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return _described(
                [
                    ResponseTopicData(
                        topic_name=name,
                        partitions=[
                            ResponsePartitionData(
                                partition_index=index,
                                error_code=error_code,
                                error_message="This server does not host this topic-partition.",
                            )
                            for index in partitions
                        ],
                    )
                    for name, partitions in requested
                ]
            )
        self.remember_nodes()
        log = self._controller.metadata_log
        log.write_no_ops()
        version = log.end_offset
        partition = ResponsePartitionData(
            partition_index=0,
            error_message="",
            leader_id=self.leader_id,
            leader_epoch=log.leader_epoch,
            high_watermark=log.high_watermark,
            current_voters=[self._replica(voter, version) for voter in self._voters],
            observers=[self._replica(observer, version) for observer in self._observers],
        )
        return _described(
            [ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
            [self._nodes[voter] for voter in self._voters if voter in self._nodes],
        )

    def _replica(self, voter: int, version: int) -> ReplicaState:
        now_ms = self._controller.now_ms()
        log_end_offset, fetched_ms = version, now_ms
        if voter != self.leader_id:
            log_end_offset, fetched_ms = self._controller.metadata_progress(voter, now_ms)
        return ReplicaState(
            replica_id=voter,
            replica_directory_id=self._directories[voter] if self._is_dynamic() else ZERO_UUID,
            log_end_offset=log_end_offset,
            last_fetch_timestamp=fetched_ms,
            last_caught_up_timestamp=fetched_ms,
        )

    def remember_nodes(self) -> None:
        """Take the addresses of the voters from the registered brokers; an unregistered one keeps its last address."""
        for voter in self._voters:
            controller = self._controller.image.controllers.get(voter)
            if controller is not None:
                self._nodes[voter] = node_of(controller)
                continue
            broker = self._controller.image.brokers.get(voter)
            if broker is not None:
                port = min(broker.port + PORT_OFFSET + voter, PORT_MAX)
                listener = Listener(name=LISTENER_NAME, host=broker.host, port=port)
                self._nodes[voter] = Node(node_id=voter, listeners=[listener])

    def add_voter(self, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
        """Refuse, for the first reason that there is: a node that could be added is never there."""
        error_code, message = self._refuse_addition(request)
        return AddRaftVoterResponse(error_code=error_code, error_message=message)

    def _refuse_addition(self, request: AddRaftVoterRequest) -> tuple[ErrorCode, str]:
        error_code, message = self._refuse_cluster(request.cluster_id)
        if error_code is not ErrorCode.NONE:
            return error_code, message
        if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
            return ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter"
        if all(listener.name.upper() != LISTENER_NAME for listener in request.listeners):
            message = (
                f"Add voter request didn't include the endpoint (Endpoints(endpoints={_endpoints(request)})) "
                f"for the default listener ListenerName({LISTENER_NAME})"
            )
            return ErrorCode.INVALID_REQUEST, message
        if not self._is_dynamic():
            message = "Cluster doesn't support adding voter because the kraft.version feature is 0"
            return ErrorCode.UNSUPPORTED_VERSION, message
        if request.voter_id in self._voters:
            key = _replica_key(request.voter_id, request.voter_directory_id)
            message = f"The voter id for {key} is already part of the set of voters {self._voter_keys()}."
            return ErrorCode.DUPLICATE_VOTER, message
        message = "Aborted add voter operation for since API_VERSIONS returned an error BROKER_NOT_AVAILABLE"
        return ErrorCode.REQUEST_TIMED_OUT, message

    def remove_voter(self, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
        """Remove a voter that is not the last one; it becomes an observer."""
        error_code, message = self._refuse_removal(request)
        if error_code is ErrorCode.NONE:
            self._voters.remove(request.voter_id)
            self._observers.append(request.voter_id)
        return RemoveRaftVoterResponse(error_code=error_code, error_message=message)

    def _refuse_removal(self, request: RemoveRaftVoterRequest) -> tuple[ErrorCode, str]:
        error_code, message = self._refuse_cluster(request.cluster_id)
        if error_code is not ErrorCode.NONE:
            return error_code, message
        if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
            return ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
        if not self._is_dynamic():
            message = "Cluster doesn't support removing voter because the kraft.version feature is 0"
            return ErrorCode.UNSUPPORTED_VERSION, message
        known = request.voter_id in self._voters and self._directories[request.voter_id] == request.voter_directory_id
        if known and len(self._voters) > 1:
            return ErrorCode.NONE, ""
        key = _replica_key(request.voter_id, request.voter_directory_id)
        return ErrorCode.VOTER_NOT_FOUND, f"Cannot remove voter {key} from the set of voters {self._voter_keys()}"

    def _is_dynamic(self) -> bool:
        return self._controller.image.finalized_features.get(KRAFT_VERSION, 0) > 0

    def _voter_keys(self) -> str:
        return "[" + ", ".join(_replica_key(voter, self._directories[voter]) for voter in self._voters) + "]"

    def _refuse_cluster(self, cluster_id: str | None) -> tuple[ErrorCode, str]:
        own = self._controller.image.cluster_id
        if cluster_id is None or cluster_id == own:
            return ErrorCode.NONE, ""
        message = f'The given id "{cluster_id}" doesn\'t match the cluster id "{own}"'
        return ErrorCode.INCONSISTENT_CLUSTER_ID, message


def node_of(controller: ControllerRegistration) -> Node:
    """Return a registered voter with its listeners."""
    listeners = [Listener(name=name, host=host, port=port) for name, host, port, _ in controller.listeners]
    return Node(node_id=controller.id, listeners=listeners)


def _described(topics: list[ResponseTopicData], nodes: list[Node] | None = None) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=ErrorCode.NONE, error_message="", topics=topics, nodes=nodes or [])


def _replica_key(voter: int, directory_id: bytes) -> str:
    return f"ReplicaKey(id={voter}, directoryId={to_text(directory_id)})"


def _endpoints(request: AddRaftVoterRequest) -> str:
    named = {listener.name.upper(): listener for listener in request.listeners}
    shown = [f"ListenerName({name})={named[name].host}/<unresolved>:{named[name].port}" for name in hash_order(named)]
    return "{" + ", ".join(shown) + "}"
