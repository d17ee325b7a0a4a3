"""A member that was removed from its group goes on reading its partitions.

A pause longer than session.timeout.ms, and the coordinator gives the partitions to another member. The first one
wakes up, its heartbeats and commits get UNKNOWN_MEMBER_ID (25) or ILLEGAL_GENERATION (22), and it continues
nevertheless: two members process each record. A correct client gives up its partitions with the first such error, and
joins again.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.groups.classic_group import ClassicGroup
from broker_client.defects.defect import Defect


class ZombieGroup(ClassicGroup):
    """Joins only without partitions."""

    def _rejoin_needed_or_pending(self) -> bool:
        return not self._subscriptions.states and super()._rejoin_needed_or_pending()


DEFECT: Final = Defect(
    name="never-rejoins",
    lesson=__doc__,
    source="franz-go, changelog of 1.21.3",
    affected="franz-go before 1.21.3",
    anomalies=("zombie-member",),
    parts={"classic_group": ZombieGroup},
)
