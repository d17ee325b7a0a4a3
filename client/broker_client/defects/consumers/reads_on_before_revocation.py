"""A member of an eager group delivers records after it has sent its last commit, and the next owner gets them again.

Before it joins again the member commits its positions, without a wait, and keeps its partitions until the commit has
ended. In between polls return more records, whose offsets are in no commit. The partitions go to another member,
which begins at the committed offsets. A correct client fetches nothing from the commit to the revocation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.groups.classic_group import ClassicGroup
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.consumer.call_waits import CallTimer
    from broker_client.core.groups.member_states import Generation


class ReadingGroup(ClassicGroup):
    """Does not stop its partitions while their positions are committed."""

    async def prepare_join(self, timer: CallTimer, generation: Generation) -> bool:
        """As ClassicGroup, with partitions that can be read."""
        prepared = await super().prepare_join(timer, generation)
        if not prepared:
            for state in self._subscriptions.states.values():
                state.is_leaving = False
        return prepared


DEFECT: Final = Defect(
    name="reads-on-before-revocation",
    lesson=__doc__,
    source="KAFKA-14196",
    affected="Java before 3.2.3 and 3.3.0",
    anomalies=("eager-rebalance-duplicates",),
    parts={"classic_group": ReadingGroup},
)
