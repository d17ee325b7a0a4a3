"""Reassignments at the controller: the new replicas join, then the old ones go (KIP-455).

Mirrors onPartitionReassignment and its callers in KafkaController. Tools before 2.4 write their requests into
ZooKeeper, later ones send them to the controller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.controller.reassignment import Assignment
from broker_sim.zookeeper.leader_and_isr import NO_LEADER, ElectionStrategy
from broker_sim.zookeeper.states import PartitionState, ReplicaState
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.controller_context import ControllerContext
    from broker_sim.zookeeper.controller_store import ControllerStore
    from broker_sim.zookeeper.partition_state_machine import PartitionStateMachine
    from broker_sim.zookeeper.replica_state_machine import ReplicaStateMachine
    from broker_sim.zookeeper.request_batch import ControllerBrokerRequestBatch
    from broker_sim.zookeeper.topic_deletion import TopicDeletionManager

    ApiError = tuple[ErrorCode, str | None]

NO_REASSIGNMENT: Final = "No partition reassignment is in progress."


def target_of(assignment: Assignment) -> tuple[int, ...]:
    """The replicas that stay."""
    return tuple(replica for replica in assignment.replicas if replica not in assignment.removing)


def reassigned_to(assignment: Assignment, target: Sequence[int]) -> Assignment:
    """The first step: the new replicas, then the old ones. Mirrors ReplicaAssignment.reassignTo."""
    origin = assignment.original_replicas
    replicas = tuple(dict.fromkeys((*target, *origin)))
    return Assignment(
        replicas=replicas,
        adding=tuple(each for each in replicas if each not in origin),
        removing=tuple(each for each in origin if each not in target),
    )


def _buffer(replicas: Sequence[int]) -> str:
    """Replicas as Scala shows them."""
    return f"ArrayBuffer({', '.join(map(str, replicas))})"


class PartitionReassignments:
    """Starts, continues and ends reassignments; `send_update_metadata` is as TopicDeletionManager's."""

    def __init__(
        self,
        *,
        context: ControllerContext,
        store: ControllerStore,
        batch: ControllerBrokerRequestBatch,
        replicas: ReplicaStateMachine,
        partitions: PartitionStateMachine,
        deletions: TopicDeletionManager,
        send_update_metadata: Callable[[Iterable[TopicPartition]], None],
    ) -> None:
        self._context = context
        self._store = store
        self._batch = batch
        self._replicas = replicas
        self._partitions = partitions
        self._deletions = deletions
        self._send_update_metadata = send_update_metadata

    async def alter(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, ApiError]:
        """Start reassignments, or revert those with None; return an error for each."""
        context = self._context
        results: dict[TopicPartition, ApiError] = {}
        begun: dict[TopicPartition, Assignment] = {}
        for each, target in wanted.items():
            known = context.assignments.get(each)
            error = None if target is None else self._refusal(known, target)
            if error is not None:
                results[each] = error
            elif known is None or each.topic in context.to_be_deleted:
                if target is None and known is None:
                    results[each] = (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, NO_REASSIGNMENT)
                else:
                    results[each] = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
            elif target is None and not known.in_progress:
                results[each] = (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, NO_REASSIGNMENT)
            else:
                begun[each] = reassigned_to(known, known.original_replicas if target is None else target)
        written_by_a_tool = [each for each in begun if each in await self._store.reassignments()] if begun else []
        if written_by_a_tool:
            await self._store.forget_reassignments(written_by_a_tool)
        for each, assignment in begun.items():
            await self.go_on(each, assignment)
            results[each] = (ErrorCode.NONE, None)
        return {each: results[each] for each in wanted}

    def _refusal(self, known: Assignment | None, target: Sequence[int]) -> ApiError | None:
        error = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        shown = _buffer(target)
        if not target:
            return error, "Empty replica list specified in partition reassignment."
        if len(set(target)) < len(target):
            return error, f"Duplicate replica ids in partition reassignment replica list: {shown}"
        if any(replica < 0 for replica in target):
            return error, f"Invalid broker id in replica list: {shown}"
        adding = reassigned_to(known or Assignment(replicas=()), target).adding
        if not all(self._context.is_live(replica) for replica in adding):
            live = ", ".join(str(broker_id) for broker_id in self._context.brokers if self._context.is_live(broker_id))
            message = (
                "Replica assignment has brokers that are not alive. Replica list: "
                f"{_buffer(adding)}, live broker list: Set({live})"
            )
            return error, message
        return None

    async def take_from_zookeeper(self) -> None:
        """Start the reassignments that a tool has written, and complete those that can end."""
        context = self._context
        wanted = await self._store.reassignments()
        refused: list[TopicPartition] = []
        for each, target in wanted.items():
            known = context.assignments.get(each)
            if known is None or each.topic in context.to_be_deleted or self._refusal(known, target) is not None:
                refused.append(each)
            elif target_of(known) != target:
                await self.go_on(each, reassigned_to(known, target))
            elif not known.in_progress:
                refused.append(each)  # it is there already
        if refused:
            await self._store.forget_reassignments(refused)
        await self.complete(list(context.reassigning))

    async def resume(self, concerns: Callable[[Assignment], bool]) -> None:
        """Continue those that concern a broker that has come back, or all after a failover."""
        for each in list(self._context.reassigning):
            assignment = self._context.assignments[each]
            if concerns(assignment):
                await self.go_on(each, assignment)

    async def complete(self, partitions: Iterable[TopicPartition]) -> None:
        """End the reassignments of these partitions whose new replicas are all in sync."""
        for each in partitions:
            if each in self._context.reassigning:
                assignment = self._context.assignments[each]
                if await self._is_complete(each, assignment):
                    await self.go_on(each, assignment)

    async def _is_complete(self, topic_partition: TopicPartition, assignment: Assignment) -> bool:
        if not assignment.in_progress:
            return True
        state = (await self._store.states([topic_partition])).get(topic_partition)
        return state is not None and set(target_of(assignment)) <= set(state.isr)

    async def go_on(self, topic_partition: TopicPartition, assignment: Assignment) -> None:
        """Phase A while the new replicas are not in sync, phase B when they are."""
        context = self._context
        self._deletions.mark_ineligible([topic_partition.topic])
        current = context.assignments[topic_partition]
        if current != assignment:
            await self._store.write_assignments({topic_partition: assignment})
            context.assignments[topic_partition] = assignment
            await self._remove(topic_partition, [r for r in current.replicas if r not in assignment.replicas])
        context.reassigning[topic_partition] = None
        if not await self._is_complete(topic_partition, assignment):
            await self._new_epoch(topic_partition, assignment)
            await self._replicas.handle([(topic_partition, each) for each in assignment.adding], ReplicaState.NEW)
            return
        await self._replicas.handle([(topic_partition, each) for each in assignment.adding], ReplicaState.ONLINE)
        completed = Assignment(replicas=target_of(assignment))
        context.assignments[topic_partition] = completed
        await self._move_leader(topic_partition, completed)
        await self._remove(topic_partition, assignment.removing)
        context.assignments[topic_partition] = completed
        await self._store.write_assignments({topic_partition: completed})
        context.reassigning.pop(topic_partition, None)
        await self._store.forget_reassignments([topic_partition])
        self._send_update_metadata([topic_partition])
        await self._deletions.resume_for([topic_partition.topic])

    async def _move_leader(self, topic_partition: TopicPartition, assignment: Assignment) -> None:
        state = self._context.leadership.get(topic_partition)
        leader = NO_LEADER if state is None else state.leader
        if leader in assignment.replicas and self._context.is_online(topic_partition, leader):
            await self._new_epoch(topic_partition, assignment)
        else:
            await self._partitions.handle([topic_partition], PartitionState.ONLINE, ElectionStrategy.REASSIGN)

    async def _new_epoch(self, topic_partition: TopicPartition, assignment: Assignment) -> None:
        """Raise the leader epoch, so that the replicas take the other assignment in. Mirrors updateLeaderEpoch."""
        context = self._context
        while True:
            state = (await self._store.states([topic_partition])).get(topic_partition)
            if state is None or state.controller_epoch > context.epoch:
                return
            raised = replace(state.changed(leader=state.leader, isr=state.isr), controller_epoch=context.epoch)
            written = await self._store.write_states({topic_partition: raised})
            if topic_partition in written:
                break
        state = context.leadership[topic_partition] = written[topic_partition]
        self._batch.add_leader_and_isr(assignment.original_replicas, topic_partition, state, is_new=False)
        self._batch.add_leader_and_isr(assignment.adding, topic_partition, state, is_new=True)
        self._batch.send()

    async def _remove(self, topic_partition: TopicPartition, removed: Sequence[int]) -> None:
        replicas = [(topic_partition, each) for each in removed]
        for target in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            await self._replicas.handle(replicas, target)
