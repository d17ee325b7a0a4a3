"""close with a time-out of 0 waits for the last commit and for LeaveGroup without end.

The coordinator cannot be reached when the application shuts down. Its close has a time-out, which does not reach the
commit of positions: that one is retried until it succeeds, and the process does not end, for hours if need be. A
correct client passes one deadline through every step of close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.groups.broker_assigned_group import BrokerAssignedGroup
from broker_client.core.groups.classic_group import ClassicGroup
from broker_client.defects.defect import Defect

NEVER_MS: Final = 1 << 40

if TYPE_CHECKING:
    from broker_client.consumer_groups import GroupMembershipOperation
    from broker_client.core.consumer.call_waits import CallTimer


class PatientClassicGroup(ClassicGroup):
    """Has all the time to close."""

    async def close(self, timer: CallTimer, operation: GroupMembershipOperation) -> None:
        """Close without a deadline."""
        del timer
        await super().close(self._waits.timer(NEVER_MS), operation)


class PatientBrokerAssignedGroup(BrokerAssignedGroup):
    """As PatientClassicGroup."""

    async def close(self, timer: CallTimer, operation: GroupMembershipOperation) -> None:
        """Close without a deadline."""
        del timer
        await super().close(self._waits.timer(NEVER_MS), operation)


DEFECT: Final = Defect(
    name="close-ignores-its-timeout",
    lesson=__doc__,
    source="the Java client in Jepsen tests of Redpanda; KAFKA-17582",
    affected="Java 3.8.0",
    anomalies=("consumer-close-hang",),
    parts={"classic_group": PatientClassicGroup, "broker_assigned_group": PatientBrokerAssignedGroup},
)
