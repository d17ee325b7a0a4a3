"""The controller's reads and writes in ZooKeeper, fenced by its epoch. Mirrors KafkaZkClient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_sim.controller.reassignment import Assignment
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.controller_context import ControllerContext
    from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr
    from broker_sim.zookeeper.messages import ControllerInfo, Snapshot
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient


class ControllerStore:
    """Each method is one request of this broker's session; ZooKeeperError when the controller has moved."""

    def __init__(self, client: ZooKeeperClient, context: ControllerContext) -> None:
        self._client = client
        self._context = context

    async def elect(self) -> ControllerInfo:
        """Try to become controller; return the controller."""
        info: ControllerInfo = await self._client.request(
            "ZooKeeperElect", lambda zookeeper, session: zookeeper.elect_controller(session)
        )
        return info

    async def controller(self) -> ControllerInfo:
        """Return the controller."""
        info: ControllerInfo = await self._client.request(
            "ZooKeeperGetController", lambda zookeeper, session: zookeeper.controller_info(session)
        )
        return info

    async def watch_everything(self) -> Snapshot:
        """Set the watches of a controller, and read everything."""
        snapshot: Snapshot = await self._client.request(
            "ZooKeeperGetAll", lambda zookeeper, session: zookeeper.watch_as_controller(session)
        )
        return snapshot

    async def image(self) -> MetadataImage:
        """Brokers, topics and configurations as they are now."""
        image: MetadataImage = await self._client.request("ZooKeeperGet", lambda zookeeper, _: zookeeper.image)
        return image

    async def states(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LeaderAndIsr]:
        """The states of these partitions, of those that have one."""
        wanted = list(partitions)
        states: dict[TopicPartition, LeaderAndIsr] = await self._client.request(
            "ZooKeeperGetPartitionStates", lambda zookeeper, _: zookeeper.states_of(wanted)
        )
        return states

    async def write_states(
        self, states: Mapping[TopicPartition, LeaderAndIsr], unclean: Sequence[TopicPartition] = ()
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Write the states whose versions are unchanged; return the written ones."""
        if not states:
            return {}
        version = self._context.epoch_version
        written: dict[TopicPartition, LeaderAndIsr] = await self._client.request(
            "ZooKeeperSetPartitionStates",
            lambda zookeeper, _: zookeeper.write_states(states, epoch_version=version, unclean=unclean),
        )
        return written

    async def write_assignments(self, assignments: Mapping[TopicPartition, Assignment]) -> None:
        """Write which replicas partitions have."""
        version = self._context.epoch_version
        await self._client.request(
            "ZooKeeperSetAssignments",
            lambda zookeeper, _: zookeeper.write_assignments(assignments, epoch_version=version),
        )

    async def remove_topic(self, name: str) -> None:
        """Remove a topic that was deleted everywhere."""
        version = self._context.epoch_version
        await self._client.request(
            "ZooKeeperDeleteTopic", lambda zookeeper, _: zookeeper.remove_topic(name, epoch_version=version)
        )

    async def deletions(self) -> tuple[str, ...]:
        """The topics that shall be deleted."""
        names: tuple[str, ...] = await self._client.request(
            "ZooKeeperGetTopicDeletions", lambda zookeeper, _: zookeeper.deletions()
        )
        return names

    async def forget_deletions(self, names: Sequence[str]) -> None:
        """Withdraw requested deletions."""
        version = self._context.epoch_version
        await self._client.request(
            "ZooKeeperDeleteTopicDeletions",
            lambda zookeeper, _: zookeeper.forget_deletions(names, epoch_version=version),
        )

    async def isr_changes(self) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the ISRs that leaders have written themselves."""
        changes: dict[TopicPartition, LeaderAndIsr] = await self._client.request(
            "ZooKeeperGetIsrChanges", lambda zookeeper, _: zookeeper.take_isr_changes()
        )
        return changes

    async def log_dir_failures(self) -> tuple[int, ...]:
        """The brokers of which a log directory has failed."""
        brokers: tuple[int, ...] = await self._client.request(
            "ZooKeeperGetLogDirEvents", lambda zookeeper, _: zookeeper.take_log_dir_failures()
        )
        return brokers

    async def reassignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the reassignments that a tool has requested."""
        wanted: dict[TopicPartition, tuple[int, ...]] = await self._client.request(
            "ZooKeeperGetReassignments", lambda zookeeper, _: zookeeper.reassignments()
        )
        return wanted

    async def forget_reassignments(self, partitions: Sequence[TopicPartition]) -> None:
        """Remove the finished reassignments from the znode that a tool has written."""
        version = self._context.epoch_version
        await self._client.request(
            "ZooKeeperSetReassignments",
            lambda zookeeper, _: zookeeper.forget_reassignments(partitions, epoch_version=version),
        )

    async def preferred_elections(self) -> tuple[TopicPartition, ...]:
        """Return the elections that a tool has requested."""
        wanted: tuple[TopicPartition, ...] = await self._client.request(
            "ZooKeeperGetPreferredElections", lambda zookeeper, _: zookeeper.take_preferred_elections()
        )
        return wanted

    async def remove_expired_tokens(self) -> None:
        """Remove the delegation tokens that have expired."""
        await self._client.request("ZooKeeperDeleteTokens", lambda zookeeper, _: zookeeper.tokens.remove_expired())

    async def request(self, name: str, operation: Any) -> Any:
        """Send an operation that has a single caller."""
        return await self._client.request(name, operation)
