"""The state machine of partitions at the controller: new, online, offline, gone. Mirrors ZkPartitionStateMachine.

A change goes to ZooKeeper first, on the condition that no other node has changed it, then to the brokers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.config.topic_config import TopicConfig
from broker_sim.zookeeper.leader_and_isr import (
    INITIAL_LEADER_EPOCH,
    Elected,
    ElectionStrategy,
    LeaderAndIsr,
    elect,
)
from broker_sim.zookeeper.states import PartitionState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.controller_context import ControllerContext
    from broker_sim.zookeeper.controller_store import ControllerStore
    from broker_sim.zookeeper.request_batch import ControllerBrokerRequestBatch

NO_STATE: Final = -1


class PartitionStateMachine:
    """`handle` returns the new states of the partitions that got a leader; those that did not are left out."""

    def __init__(
        self,
        *,
        context: ControllerContext,
        batch: ControllerBrokerRequestBatch,
        store: ControllerStore,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self._context = context
        self._batch = batch
        self._store = store
        self._config = config

    async def startup(self) -> None:
        """Begin with the state in ZooKeeper, and elect leaders where none is alive."""
        context = self._context
        for each in context.assignments:
            state = context.leadership.get(each)
            if state is None:
                context.partition_states[each] = PartitionState.NEW
            elif context.is_online(each, state.leader):
                context.partition_states[each] = PartitionState.ONLINE
            else:
                context.partition_states[each] = PartitionState.OFFLINE
        await self.trigger_online()

    async def trigger_online(self) -> dict[TopicPartition, LeaderAndIsr]:
        """Look for a leader for all that have none."""
        context = self._context
        waiting = [
            each
            for each, state in context.partition_states.items()
            if state in (PartitionState.OFFLINE, PartitionState.NEW) and each.topic not in context.to_be_deleted
        ]
        return await self.handle(waiting, PartitionState.ONLINE, ElectionStrategy.OFFLINE)

    async def handle(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionState,
        strategy: ElectionStrategy = ElectionStrategy.OFFLINE,
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Change the partitions' state to `target`, and notify the brokers."""
        context = self._context
        valid = context.that_may_become(list(partitions), target)
        elected: dict[TopicPartition, LeaderAndIsr] = {}
        try:
            if target is PartitionState.ONLINE:
                fresh = [each for each in valid if context.partition_state(each) is PartitionState.NEW]
                elected = await self._initialize(fresh)
                elected |= await self._elect([each for each in valid if each not in elected], strategy)
                valid = list(elected)
        except BaseException:
            self._batch.clear()
            raise
        for each in valid:
            context.partition_states[each] = target
        self._batch.send()
        return elected

    async def _initialize(self, partitions: list[TopicPartition]) -> dict[TopicPartition, LeaderAndIsr]:
        """Give new partitions their first leader: the first replica that is alive, the live ones in sync."""
        context = self._context
        first: dict[TopicPartition, LeaderAndIsr] = {}
        for each in partitions:
            live = tuple(replica for replica in context.replicas(each) if context.is_online(each, replica))
            if live:
                first[each] = LeaderAndIsr(
                    leader=live[0],
                    leader_epoch=INITIAL_LEADER_EPOCH,
                    isr=live,
                    zk_version=NO_STATE,
                    controller_epoch=context.epoch,
                )
        written = await self._store.write_states(first)
        for each, state in written.items():
            context.leadership[each] = state
            self._batch.add_leader_and_isr(state.isr, each, state, is_new=True)
        return written

    async def _elect(
        self, partitions: list[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, LeaderAndIsr]:
        context = self._context
        finished: dict[TopicPartition, LeaderAndIsr] = {}
        remaining = [each for each in partitions if context.partition_state(each) is not PartitionState.NEW]
        while remaining:
            choices = await self._choose(remaining, strategy)
            unclean = [each for each, choice in choices.items() if choice.unclean]
            written = await self._store.write_states(
                {each: choice.state for each, choice in choices.items()}, unclean=unclean
            )
            for each, state in written.items():
                context.leadership[each] = state
                self._batch.add_leader_and_isr(choices[each].recipients, each, state, is_new=False)
            finished |= written
            # A leader has changed its ISR meanwhile: the new state is read again.
            remaining = [each for each in choices if each not in written]
        return finished

    async def _choose(
        self, partitions: list[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, Elected]:
        context = self._context
        states = await self._store.states(partitions)
        image = await self._store.image() if _needs_configs(context, states, strategy) else None
        choices: dict[TopicPartition, Elected] = {}
        for each, state in states.items():
            if state.controller_epoch > context.epoch:
                continue  # another controller has decided: this one has been succeeded, and will learn of it
            allow_unclean = strategy is ElectionStrategy.OFFLINE_UNCLEAN
            if not allow_unclean and image is not None and each.topic in image.topics:
                configs = image.topics[each.topic].configs
                allow_unclean = TopicConfig.resolve(configs, self._config()).unclean_leader_election_enable
            choice = elect(
                strategy,
                state=state,
                replicas=context.replicas(each),
                is_online=lambda replica, each=each: context.is_online(each, replica, shutting_down_too=True),  # type: ignore[misc]
                shutting_down=lambda replica: replica in context.shutting_down,
                allow_unclean=allow_unclean,
            )
            if choice is not None:
                choices[each] = replace(choice, state=replace(choice.state, controller_epoch=context.epoch))
        return choices


def _needs_configs(
    context: ControllerContext, states: dict[TopicPartition, LeaderAndIsr], strategy: ElectionStrategy
) -> bool:
    """Return True if a partition has no live in-sync replica: then its topic may allow an unclean election."""
    return strategy is ElectionStrategy.OFFLINE and any(
        not any(context.is_online(each, replica) for replica in state.isr) for each, state in states.items()
    )
