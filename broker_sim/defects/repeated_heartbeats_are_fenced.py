"""A coordinator fences a member that repeats a heartbeat whose response was lost.

In a group with the protocol of KIP-848 the response to a heartbeat can give the member a newer epoch. If that response
is lost, the member sends the heartbeat again with the epoch that it knows. This coordinator takes it for a zombie and
responds with FENCED_MEMBER_EPOCH (110): the member abandons all its partitions, loses what it has not committed, and
joins anew. A coordinator that remembers the previous epoch of a member accepts it, as long as the member owns nothing
else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
from broker_sim.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from broker_sim.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from protocol_specs.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )

__all__ = ["DEFECT"]


class RepetitionsAreFenced(ConsumerGroups):
    """Knows no previous epoch of a member."""

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client: ClientInfo
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Serve a heartbeat with the present epoch alone."""
        group = self._groups.get(request.group_id)
        member = group.members.get(request.member_id) if isinstance(group, ConsumerGroup) else None
        if member is not None and 0 < request.member_epoch < member.member_epoch:
            raise CoordinatorError(ErrorCode.FENCED_MEMBER_EPOCH, "The member epoch is not the present one.")
        return super().heartbeat(request, client)


DEFECT: Final = Defect(
    name="repeated-heartbeats-are-fenced",
    lesson=__doc__,
    source="KAFKA-19222; KAFKA-19233; KAFKA-19235",
    affected="Apache Kafka 4.0.0 in some states of a member",
    anomalies=("repeated-heartbeat-fences",),
    substitutes=(RepetitionsAreFenced,),
    since="3.7",
    needs_kraft=True,
)
