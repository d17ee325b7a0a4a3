"""Deletes topics at the controller: metadata first, replicas stopped, then deleted, then the znodes. Mirrors
TopicDeletionManager.

A topic with a dead replica, or one that is being reassigned, waits: its deletion continues afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.zookeeper.states import PartitionState, ReplicaState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.controller_context import ControllerContext, PartitionAndReplica
    from broker_sim.zookeeper.controller_store import ControllerStore
    from broker_sim.zookeeper.partition_state_machine import PartitionStateMachine
    from broker_sim.zookeeper.replica_state_machine import ReplicaStateMachine


class TopicDeletionManager:
    """`send_update_metadata` sends every live broker an UpdateMetadata about partitions."""

    def __init__(
        self,
        *,
        enabled: bool,
        context: ControllerContext,
        store: ControllerStore,
        replicas: ReplicaStateMachine,
        partitions: PartitionStateMachine,
        send_update_metadata: Callable[[Iterable[TopicPartition]], None],
    ) -> None:
        self._enabled = enabled
        self._context = context
        self._store = store
        self._replicas = replicas
        self._partitions = partitions
        self._send_update_metadata = send_update_metadata

    async def start(self, wanted: Iterable[str]) -> None:
        """Take over the unfinished deletions of an earlier controller."""
        context = self._context
        if not self._enabled:
            await self._store.forget_deletions(list(wanted))
            return
        for name in wanted:
            context.to_be_deleted[name] = None
            dead = any(not context.is_online(each, replica) for each, replica in context.replicas_of_topic(name))
            if dead or any(each.topic == name for each in context.reassigning):
                context.deletion_ineligible[name] = None

    async def enqueue(self, names: Iterable[str]) -> None:
        """These topics shall go."""
        names = list(names)
        if not self._enabled:
            await self._store.forget_deletions(names)
            return
        unknown = [name for name in names if name not in self._context.topic_ids]
        if unknown:
            await self._store.forget_deletions(unknown)
        for name in names:
            if name not in unknown:
                self._context.to_be_deleted[name] = None
                if any(each.topic == name for each in self._context.reassigning):
                    self.mark_ineligible([name])
        await self.resume()

    async def resume_for(self, names: Iterable[str]) -> None:
        """Continue the deletion of topics after an obstacle is gone."""
        wanted = [name for name in names if name in self._context.to_be_deleted]
        if wanted:
            for name in wanted:
                self._context.deletion_ineligible.pop(name, None)
            await self.resume()

    def mark_ineligible(self, names: Iterable[str]) -> None:
        """Suspend the deletion of these topics."""
        for name in names:
            if name in self._context.to_be_deleted:
                self._context.deletion_ineligible[name] = None

    async def replicas_deleted(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """A broker has deleted these."""
        done = [each for each in replicas if each[0].topic in self._context.to_be_deleted]
        await self._replicas.handle(done, ReplicaState.DELETION_SUCCESSFUL)
        await self.resume()

    async def replicas_failed(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Note replicas that could not be deleted: their brokers are dead, or have responded with an error."""
        failed = [each for each in replicas if each[0].topic in self._context.to_be_deleted]
        if failed:
            await self._replicas.handle(failed, ReplicaState.DELETION_INELIGIBLE)
            self.mark_ineligible(dict.fromkeys(each.topic for each, _ in failed))
            await self.resume()

    async def resume(self) -> None:
        """Continue the deletion of every topic without an obstacle."""
        context = self._context
        retried: list[PartitionAndReplica] = []
        eligible: list[str] = []
        for name in list(context.to_be_deleted):
            states = [context.replica_state(each) for each in context.replicas_of_topic(name)]
            if all(state is ReplicaState.DELETION_SUCCESSFUL for state in states):
                await self._complete(name)
                continue
            started = ReplicaState.DELETION_STARTED in states
            if not started and ReplicaState.DELETION_INELIGIBLE in states:
                retried += context.replicas_in(name, ReplicaState.DELETION_INELIGIBLE)
            if not started and name not in context.deletion_ineligible:
                eligible.append(name)
        if retried:
            await self._replicas.handle(retried, ReplicaState.OFFLINE)
        if eligible:
            await self._delete(eligible)

    async def _delete(self, names: list[str]) -> None:
        context = self._context
        partitions = [each for name in names for each in context.partitions_of(name)]
        unseen = [each for each in partitions if each.topic not in context.deletion_started]
        await self._partitions.handle(unseen, PartitionState.OFFLINE)
        await self._partitions.handle(unseen, PartitionState.NON_EXISTENT)
        context.deletion_started.update(dict.fromkeys(names))
        self._send_update_metadata(partitions)
        dead: list[PartitionAndReplica] = []
        alive: list[PartitionAndReplica] = []
        for name in names:
            for each in context.replicas_of_topic(name):
                if not context.is_online(*each):
                    dead.append(each)
                elif context.replica_state(each) is not ReplicaState.DELETION_SUCCESSFUL:
                    alive.append(each)
        await self._replicas.handle(dead, ReplicaState.DELETION_INELIGIBLE)
        await self._replicas.handle(alive, ReplicaState.OFFLINE)
        await self._replicas.handle(alive, ReplicaState.DELETION_STARTED)
        self.mark_ineligible(dict.fromkeys(each.topic for each, _ in dead))

    async def _complete(self, name: str) -> None:
        await self._replicas.handle(self._context.replicas_of_topic(name), ReplicaState.NON_EXISTENT)
        await self._store.remove_topic(name)
        self._context.remove_topic(name)
