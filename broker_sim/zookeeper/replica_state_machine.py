"""The controller's machine of replicas: new, online, offline, deleted. Mirrors ZkReplicaStateMachine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_sim.controller.reassignment import Assignment
from broker_sim.zookeeper.leader_and_isr import NO_LEADER, LeaderAndIsr
from broker_sim.zookeeper.states import ReplicaState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.controller_context import ControllerContext, PartitionAndReplica
    from broker_sim.zookeeper.controller_store import ControllerStore
    from broker_sim.zookeeper.request_batch import ControllerBrokerRequestBatch


class ReplicaStateMachine:
    """Changes the state of replicas and notifies the brokers."""

    def __init__(
        self, *, context: ControllerContext, batch: ControllerBrokerRequestBatch, store: ControllerStore
    ) -> None:
        self._context = context
        self._batch = batch
        self._store = store

    async def startup(self) -> None:
        """Begin with the live brokers: they receive their roles; the others leave the ISRs."""
        context = self._context
        online: list[PartitionAndReplica] = []
        offline: list[PartitionAndReplica] = []
        for each, assignment in context.assignments.items():
            for replica in assignment.replicas:
                if context.is_online(each, replica):
                    context.replica_states[each, replica] = ReplicaState.ONLINE
                    online.append((each, replica))
                else:
                    context.replica_states[each, replica] = ReplicaState.OFFLINE
                    offline.append((each, replica))
        await self.handle(online, ReplicaState.ONLINE)
        await self.handle(offline, ReplicaState.OFFLINE)

    async def handle(self, replicas: Iterable[PartitionAndReplica], target: ReplicaState) -> None:
        """Take the replicas to `target`, broker by broker."""
        by_broker: dict[int, list[TopicPartition]] = {}
        for each, broker_id in self._context.replicas_that_may_become(list(replicas), target):
            by_broker.setdefault(broker_id, []).append(each)
        try:
            for broker_id, partitions in by_broker.items():
                if target is ReplicaState.OFFLINE:
                    await self._offline(broker_id, partitions)
                else:
                    for each in partitions:
                        self._become(each, broker_id, target)
        except BaseException:
            self._batch.clear()
            raise
        self._batch.send()

    def _become(self, topic_partition: TopicPartition, broker_id: int, target: ReplicaState) -> None:
        context = self._context
        replica = (topic_partition, broker_id)
        state = context.leadership.get(topic_partition)
        if target is ReplicaState.NEW:
            if state is not None:
                if state.leader == broker_id:
                    return  # a replica that is to lead is not new
                self._batch.add_leader_and_isr([broker_id], topic_partition, state, is_new=True)
        elif target is ReplicaState.ONLINE:
            if context.replica_state(replica) is ReplicaState.NEW:
                assignment = context.assignments[topic_partition]
                if broker_id not in assignment.replicas:
                    context.assignments[topic_partition] = replace(
                        assignment, replicas=(*assignment.replicas, broker_id)
                    )
            elif state is not None:
                self._batch.add_leader_and_isr([broker_id], topic_partition, state, is_new=False)
        elif target is ReplicaState.DELETION_STARTED:
            self._batch.add_stop_replica(broker_id, topic_partition, delete=True)
        elif target is ReplicaState.NON_EXISTENT:
            context.assignments[topic_partition] = _without(context.assignments[topic_partition], broker_id)
            context.replica_states.pop(replica, None)
            return
        context.replica_states[replica] = target

    async def _offline(self, broker_id: int, partitions: list[TopicPartition]) -> None:
        context = self._context
        for each in partitions:
            self._batch.add_stop_replica(broker_id, each, delete=False)
        led = [each for each in partitions if each in context.leadership]
        for each, state in (await self._remove_from_isr(broker_id, led)).items():
            if each.topic not in context.to_be_deleted:
                others = [replica for replica in context.replicas(each) if replica != broker_id]
                self._batch.add_leader_and_isr(others, each, state, is_new=False)
            context.replica_states[each, broker_id] = ReplicaState.OFFLINE
        for each in partitions:
            if each not in context.leadership:
                self._batch.add_update_metadata(context.brokers, [each])
                context.replica_states[each, broker_id] = ReplicaState.OFFLINE

    async def _remove_from_isr(
        self, broker_id: int, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Take a broker out of the ISRs; the last member stays, but does not lead."""
        context = self._context
        results: dict[TopicPartition, LeaderAndIsr] = {}
        remaining = partitions
        while remaining:
            states = {
                each: state
                for each, state in (await self._store.states(remaining)).items()
                if state.controller_epoch <= context.epoch
            }
            changed = {
                each: replace(
                    state.changed(
                        leader=NO_LEADER if state.leader == broker_id else state.leader,
                        isr=state.isr if len(state.isr) == 1 else tuple(r for r in state.isr if r != broker_id),
                    ),
                    controller_epoch=context.epoch,
                )
                for each, state in states.items()
                if broker_id in state.isr
            }
            written = await self._store.write_states(changed)
            unchanged = {each: state for each, state in states.items() if each not in changed}
            for each, state in (unchanged | written).items():
                context.leadership[each] = results[each] = state
            remaining = [each for each in changed if each not in written]
        return results


def _without(assignment: Assignment, replica: int) -> Assignment:
    def kept(replicas: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(each for each in replicas if each != replica)

    return Assignment(
        replicas=kept(assignment.replicas), adding=kept(assignment.adding), removing=kept(assignment.removing)
    )
