"""CreatePartitions, ElectLeaders and the reassignments at the controller: decide, commit, respond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.controller.create_partitions import create_partitions
from broker_sim.controller.elect_leaders import elect_leaders
from broker_sim.controller.partition_reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)

if TYPE_CHECKING:
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller
    from broker_sim.quotas.controller_mutation_quotas import MutationQuota
    from protocol_specs.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    )
    from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
    from protocol_specs.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
    from protocol_specs.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )


class PartitionControl:
    """Serves the partition requests that brokers forward; `random` places new partitions."""

    __slots__ = ("_config", "_controller", "_random")

    def __init__(self, controller: Controller, *, config: BrokerConfig, random: Random) -> None:
        self._controller = controller
        self._config = config
        self._random = random

    def create(self, request: CreatePartitionsRequest, quota: MutationQuota | None) -> CreatePartitionsResponse:
        """Add the valid partitions; the response is made after the commit."""
        creation = create_partitions(
            request,
            image=self._controller.image,
            config=self._config,
            random=self._random,
            quota=quota,
        )
        if creation.topics:
            self._controller.change("CreatePartitions", lambda image: image.with_topics(creation.topics))
        return creation.response

    def elect(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Elect leaders where needed; the response does not wait until brokers have applied them (KIP-460 in KRaft)."""
        elections = elect_leaders(request, self._controller)
        self._controller.change_partitions(elections.edits.changes, elections.edits.unclean)
        return elections.response

    def reassign(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        """Begin or stop reassignments; they end by themselves, with an ISR that has all new replicas."""
        reassignments = alter_partition_reassignments(request, self._controller)
        self._controller.change_partitions(reassignments.edits.changes, reassignments.edits.unclean)
        return reassignments.response

    def list_reassignments(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        """Return the reassignments in progress."""
        return list_partition_reassignments(request, self._controller.image)
