"""Requests of brokers and clients at the active controller: controlled shutdown, ISRs, elections, reassignments.

Mirrors KafkaController's controlledShutdown, alterPartitions and electLeaders. Each is an event like any other; a
controller that is not active responds NOT_CONTROLLER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.leader_and_isr import NO_LEADER, ElectionStrategy, LeaderAndIsr
from broker_sim.zookeeper.messages import ZooKeeperError
from broker_sim.zookeeper.states import PartitionState, ReplicaState
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import (
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from protocol_specs.messages.controlled_shutdown import ControlledShutdownResponse, RemainingPartition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.zookeeper.kafka_controller import KafkaController
    from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour
    from protocol_specs.messages.alter_partition import AlterPartitionRequest, PartitionData
    from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest

    ApiError = tuple[ErrorCode, str | None]

PREFERRED: Final = 0
NO_BROKER_EPOCH: Final = -1
ISR_WITH_EPOCHS_SINCE: Final = 3
TOPIC_IDS_SINCE: Final = 2


class ControllerRequests:
    """Each method fires with a response, also when this broker is no controller, or loses that role meanwhile."""

    def __init__(self, controller: KafkaController, behaviour: ZooKeeperBehaviour) -> None:
        self._controller = controller
        self._behaviour = behaviour

    def _put(self, name: str, event: Callable[[], Awaitable[Any]], not_controller: Callable[[], Any]) -> Deferred[Any]:
        async def response() -> Any:
            return await event() if self._controller.is_active else not_controller()

        def moved(failure: Failure) -> Any:
            failure.trap(ZooKeeperError)
            return not_controller()

        return self._controller.events.put(name, response).addErrback(moved)

    # Controlled shutdown.

    def controlled_shutdown(self, request: ControlledShutdownRequest) -> Deferred[ControlledShutdownResponse]:
        """Move a broker's leaderships away; return those that it still has."""
        return self._put(
            "ControlledShutdown",
            lambda: self._controlled_shutdown(request),
            # The exception for a controller that has moved has no error of its own.
            lambda: ControlledShutdownResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH),
        )

    async def _controlled_shutdown(self, request: ControlledShutdownRequest) -> ControlledShutdownResponse:
        controller = self._controller
        context = controller.context
        broker_id = request.broker_id
        broker = context.brokers.get(broker_id)
        if broker is None:
            return ControlledShutdownResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE)
        if request.broker_epoch != NO_BROKER_EPOCH and request.broker_epoch < broker.epoch:
            return ControlledShutdownResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        context.shutting_down[broker_id] = None
        concerned = [
            each
            for each, _ in context.replicas_on([broker_id])
            if len(context.replicas(each)) > 1
            and each in context.leadership
            and each.topic not in context.to_be_deleted
        ]
        led = [each for each in concerned if context.leadership[each].leader == broker_id]
        await controller.partitions.handle(led, PartitionState.ONLINE, ElectionStrategy.CONTROLLED_SHUTDOWN)
        followed = [each for each in concerned if each not in led]
        for each in followed:
            controller.batch.add_stop_replica(broker_id, each, delete=False)
        controller.batch.send()
        await controller.replicas.handle([(each, broker_id) for each in followed], ReplicaState.OFFLINE)
        return ControlledShutdownResponse(
            remaining_partitions=[
                RemainingPartition(topic_name=name, partition_index=index) for name, index in context.led_by(broker_id)
            ]
        )

    # ISRs.

    def alter_partition(self, request: AlterPartitionRequest, version: int) -> Deferred[AlterPartitionResponse]:
        """Take the ISRs that a leader proposes (KIP-497)."""
        return self._put(
            "AlterPartitionReceived",
            lambda: self._alter_partition(request, version),
            lambda: AlterPartitionResponse(error_code=ErrorCode.NOT_CONTROLLER),
        )

    async def _alter_partition(self, request: AlterPartitionRequest, version: int) -> AlterPartitionResponse:
        controller = self._controller
        context = controller.context
        broker = context.brokers.get(request.broker_id)
        if broker is None or broker.epoch != request.broker_epoch:
            return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        names = {topic_id: name for name, topic_id in context.topic_ids.items()}
        errors: dict[TopicPartition, ErrorCode] = {}
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        requested: list[tuple[Any, str | None, list[PartitionData]]] = []
        for topic in request.topics:
            name = names.get(topic.topic_id) if version >= TOPIC_IDS_SINCE else topic.topic_name
            requested.append((topic, name, topic.partitions))
            for data in topic.partitions if name is not None else ():
                each = TopicPartition(name, data.partition_index)  # type: ignore[arg-type]
                state = self._proposed(each, data, request.broker_id, version)
                if isinstance(state, ErrorCode):
                    errors[each] = state
                else:
                    wanted[each] = state
        written = await controller.store.write_states(wanted)
        controller.take_states(written)
        for each in wanted:
            if each not in written:
                errors[each] = ErrorCode.INVALID_UPDATE_VERSION
        everything = [*errors, *wanted]
        controller.send_update_metadata([each for each in everything if each in context.leadership])
        if written:
            controller.events.enqueue(
                "PartitionReassignmentIsrChange", lambda: controller.reassignments.complete(list(written))
            )
        return AlterPartitionResponse(
            topics=[
                ResponseTopicData(
                    topic_id=topic.topic_id,
                    topic_name=topic.topic_name,
                    partitions=[self._respond(name, data.partition_index, errors) for data in partitions],
                )
                for topic, name, partitions in requested
            ]
        )

    def _proposed(
        self, topic_partition: TopicPartition, data: PartitionData, broker_id: int, version: int
    ) -> LeaderAndIsr | ErrorCode:
        """Return the state that a leader requests, or the error that prevents it."""
        context = self._controller.context
        current = context.leadership.get(topic_partition)
        if current is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if data.leader_epoch > current.leader_epoch or data.partition_epoch > current.zk_version:
            return ErrorCode.NOT_CONTROLLER
        if data.leader_epoch < current.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        members = (
            [member.broker_id for member in data.new_isr_with_epochs]
            if version >= ISR_WITH_EPOCHS_SINCE
            else data.new_isr
        )
        isr = tuple(members)
        if broker_id == current.leader and isr == current.isr:
            return current
        if data.partition_epoch < current.zk_version:
            return ErrorCode.INVALID_UPDATE_VERSION
        if not all(context.is_live(member) for member in isr):
            return ErrorCode.INELIGIBLE_REPLICA if version >= TOPIC_IDS_SINCE else ErrorCode.OPERATION_NOT_ATTEMPTED
        return LeaderAndIsr(
            leader=broker_id,
            leader_epoch=data.leader_epoch,
            isr=isr,
            zk_version=data.partition_epoch,
            controller_epoch=context.epoch,
        )

    def _respond(
        self, name: str | None, index: int, errors: Mapping[TopicPartition, ErrorCode]
    ) -> ResponsePartitionData:
        if name is None:
            return ResponsePartitionData(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        each = TopicPartition(name, index)
        error = errors.get(each)
        if error is not None:
            return ResponsePartitionData(partition_index=index, error_code=error)
        state = self._controller.context.leadership[each]
        return ResponsePartitionData(
            partition_index=index,
            error_code=ErrorCode.NONE,
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            partition_epoch=state.zk_version,
        )

    # Elections.

    def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, election_type: int
    ) -> Deferred[tuple[dict[TopicPartition, ApiError], dict[TopicPartition, int]]]:
        """Elect where needed (None: everywhere); return errors, and the elected leaders."""
        return self._put(
            "ReplicaLeaderElection",
            lambda: self._elect_leaders(partitions, election_type),
            lambda: (dict.fromkeys(partitions or (), (ErrorCode.NOT_CONTROLLER, None)), {}),
        )

    async def _elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, election_type: int
    ) -> tuple[dict[TopicPartition, ApiError], dict[TopicPartition, int]]:
        controller = self._controller
        context = controller.context
        preferred = election_type == PREFERRED
        errors: dict[TopicPartition, ApiError] = {}
        electable: list[TopicPartition] = []
        for each in list(context.assignments) if partitions is None else dict.fromkeys(partitions):
            state = context.leadership.get(each)
            if each not in context.assignments or state is None:
                errors[each] = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
            elif each.topic in context.to_be_deleted:
                errors[each] = (ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
            elif (
                state.leader == context.replicas(each)[0]
                if preferred
                else state.leader != NO_LEADER and context.is_live(state.leader)
            ):
                errors[each] = (
                    ErrorCode.ELECTION_NOT_NEEDED,
                    "Leader election not needed for topic partition.",
                )
            else:
                electable.append(each)
        strategy = ElectionStrategy.PREFERRED if preferred else ElectionStrategy.OFFLINE_UNCLEAN
        elected = await controller.partitions.handle(electable, PartitionState.ONLINE, strategy)
        shown = (
            "PreferredReplicaPartitionLeaderElectionStrategy"
            if preferred
            else "OfflinePartitionLeaderElectionStrategy(true)"
        )
        for each in electable:
            if each not in elected:
                code = (
                    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
                )
                errors[each] = (code, f"Failed to elect leader for partition {each} under strategy {shown}")
        return errors, {each: state.leader for each, state in elected.items()}

    # Reassignments.

    def alter_reassignments(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> Deferred[dict[TopicPartition, ApiError] | None]:
        """Start or revert reassignments; None when this broker is no controller."""
        return self._put("ApiPartitionReassignment", lambda: self._controller.reassignments.alter(wanted), lambda: None)

    def list_reassignments(self) -> Deferred[list[tuple[TopicPartition, Any]] | None]:
        """Return the reassignments in progress with their assignments; None when this broker is no controller."""

        async def going_on() -> list[tuple[TopicPartition, Any]]:
            context = self._controller.context
            return [(each, known) for each, known in context.assignments.items() if known.in_progress]

        return self._put("ListPartitionReassignments", going_on, lambda: None)
