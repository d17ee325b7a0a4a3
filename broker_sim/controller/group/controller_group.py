"""The controllers of a cluster with several: nodes 3000, 3001, ..., one of which is active. Mirrors the nodes of
controller.quorum.voters with process.roles=controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.control.events import ControllerElected, ControllerKilled, ControllerStarted
from broker_sim.controller.group.committed_events import UndecidedJournal
from broker_sim.controller.group.controller_links import ControllerLinks
from broker_sim.controller.group.controller_node import ControllerNode
from broker_sim.controller.group.quorum_controller import QuorumController
from broker_sim.errors import BrokerSimError
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.quorum.raft_log import RaftBatch, RaftStorage
from broker_sim.quorum.raft_messages import RaftMessages
from broker_sim.quorum.raft_settings import RaftSettings
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage, Voter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.controller.controller import Controller
    from broker_sim.links.node_links import LinkNode
    from broker_sim.metadata.metadata_log import MetadataBatch
    from broker_sim.quorum.raft_outputs import LeaderChanged
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams

__all__ = ["CONTROLLERS_MAX", "ControllerGroup"]

CONTROLLERS_MAX: Final = 9
UUID_BYTES: Final = 16


class ControllerGroup:
    """`wire` gives a controller its managers; `became_active` is called with every new active one."""

    def __init__(
        self,
        *,
        controllers: int,
        reactor: IReactor,
        journal: Journal,
        config: BrokerConfig,
        cluster_id: str,
        streams: RandomStreams,
        link_delay_ms: float,
        wire: Callable[[QuorumController], None],
        link_node_of: Callable[[ControllerNode], LinkNode],
        became_active: Callable[[Controller], None],
        make_storage: Callable[[int, Sequence[int], bytes], RaftStorage] | None = None,
    ) -> None:
        self.node_ids = list(range(CONTROLLER_ID, CONTROLLER_ID + controllers))
        self.reactor = reactor
        self.journal = journal
        self.streams = streams
        self.settings = RaftSettings.from_config(config)
        self.published_offset = 0
        """The offset up to which the journal has the committed records."""
        self.published_image = MetadataImage.empty(cluster_id)
        self._config = config
        self._cluster_id = cluster_id
        self._wire = wire
        self.link_node_of = link_node_of
        """Returns the object that serves a node's links."""
        self._became_active = became_active
        random = streams.stream("controller directories")
        self.directory_ids = {node_id: random.randbytes(UUID_BYTES) for node_id in self.node_ids}
        self._storages = {
            node_id: RaftStorage(voters=tuple(self.node_ids))
            if make_storage is None
            else make_storage(node_id, self.node_ids, self.directory_ids[node_id])
            for node_id in self.node_ids
        }
        for node_id, storage in self._storages.items():
            self.directory_ids[node_id] = storage.directory_id or self.directory_ids[node_id]
        self.links = ControllerLinks(self, reactor=reactor, journal=journal, delay_ms=link_delay_ms)
        self.nodes = {node_id: ControllerNode(self, node_id) for node_id in self.node_ids}
        became_active(self.nodes[CONTROLLER_ID].controller)

    # Parts of nodes.

    def make_controller(self, node: ControllerNode) -> QuorumController:
        """A controller without a log, with its request handlers."""
        controller = self._config.part_types.of(QuorumController)(
            node,
            reactor=self.reactor,
            journal=UndecidedJournal(self.journal),
            config=self._config,
            cluster_id=self._cluster_id,
        )
        self._wire(controller)
        return controller

    def messages_of(self, node_id: int, directory_id: bytes | None = None) -> RaftMessages:
        """The request builder of a voter, or, with a directory of its own, of a broker."""
        return RaftMessages(
            release=self._config.release,
            cluster_id=self._cluster_id,
            node_id=node_id,
            directory_id=self.directory_ids[node_id] if directory_id is None else directory_id,
        )

    # Start and end of processes.

    def first_leader_change(self) -> LeaderChangeMessage:
        """The record at the start of the first epoch."""
        voters = [Voter(voter_id=node_id) for node_id in self.node_ids]
        return LeaderChangeMessage(version=0, leader_id=CONTROLLER_ID, voters=voters, granting_voters=voters)

    def storage_of(self, node_id: int) -> RaftStorage:
        """The storage that the processes of a node share."""
        return self._storages[node_id]

    def newest_log(self) -> Sequence[RaftBatch]:
        """The log that an earlier cluster has left and that wins an election: that of the highest epoch, then end."""
        logs = [storage.log for storage in self._storages.values()]
        return max(logs, key=lambda log: (log.last_epoch, log.end_offset)).batches

    def next_epoch(self) -> int:
        """An epoch higher than any before."""
        known = [max(each.quorum_state.leader_epoch, each.log.last_epoch) for each in self._storages.values()]
        return max(known) + 1

    def adopt(self, batches: Sequence[MetadataBatch]) -> None:
        """Give every node the same committed log, led by the first node."""
        agreed = [
            RaftBatch(
                base_offset=batch.base_offset,
                last_offset=batch.last_offset,
                epoch=batch.leader_epoch,
                content=batch if batch.control is None else batch.control,
                control_ms=None if batch.control is None else batch.append_time_ms,
            )
            for batch in batches
        ]
        for node in self.nodes.values():
            node.storage.log.become(agreed)
            node.storage.write(epoch=agreed[-1].epoch, leader_id=CONTROLLER_ID, voted_id=-1)
        self.published_offset = batches[-1].last_offset + 1
        self.published_image = self.nodes[CONTROLLER_ID].controller.committed_image
        for node in self.nodes.values():
            node.adopt(batches)

    def stop(self) -> None:
        """End every node; nothing is reported."""
        for node in self.nodes.values():
            if node.alive:
                node.kill()

    def node(self, node_id: int) -> ControllerNode:
        """Return one controller.

        Raises:
            BrokerSimError: No controller has this id.
        """
        try:
            return self.nodes[node_id]
        except KeyError:
            raise BrokerSimError(f"there is no controller {node_id!r}: they are {self.node_ids}") from None

    def kill(self, node_id: int) -> None:
        """Kill a node without a shutdown; does nothing to a dead one."""
        node = self.node(node_id)
        if node.alive:
            node.kill()
            self.journal.append(ControllerKilled(time_us=self.journal.now_us(), broker_id=node_id))

    def restart(self, node_id: int) -> None:
        """Restart a node, after a kill if it runs, with its log and its vote."""
        self.kill(node_id)
        self.journal.append(ControllerStarted(time_us=self.journal.now_us(), broker_id=node_id))
        self.node(node_id).start()

    # Queries.

    @property
    def active(self) -> int | None:
        """The active controller, None while there is none. One that a majority has left behind may still think so."""
        leaders = [node for node in self.nodes.values() if node.alive and node.controller.is_active]
        return max(leaders, key=lambda node: node.replica.epoch).id if leaders else None

    def pending(self) -> list[str]:
        """The reasons why the quorum is not at rest."""
        reasons = [f"controller {node.id} is down" for node in self.nodes.values() if not node.alive]
        if self.active is None:
            reasons.append("no controller is active")
        else:
            leader = self.nodes[self.active]
            end = leader.controller.log.end_offset
            if leader.replica.high_watermark < end:
                reasons.append(f"the metadata log has the high watermark {leader.replica.high_watermark} of {end}")
        return reasons

    def leader_changed(self, node: ControllerNode, change: LeaderChanged) -> None:
        """A node has learned of another leader; one that learns of itself is the active controller now."""
        if change.leader_id == node.id and node.controller.is_active:
            self.journal.append(
                ControllerElected(time_us=self.journal.now_us(), broker_id=node.id, controller_epoch=change.epoch)
            )
            if self.active == node.id:
                self._became_active(node.controller)
