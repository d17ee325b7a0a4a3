"""The check of a position after a leader change sets the position back, and records are delivered twice.

The consumer has fetched records when the leader moves, and goes on delivering them while OffsetForLeaderEpoch checks
the position. When the response comes, the position that the check began with is restored, and everything since is
fetched again. A correct client delivers nothing of the partition during the check, or checks the present position.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.consumer.offset_lookups import OffsetLookups
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.core.consumer.subscription_state import PartitionState
    from broker_client.records import TopicPartition
    from protocol_specs.messages.offset_for_leader_epoch import EpochEndOffset


class RestoringLookups(OffsetLookups):
    """Remembers positions for as long as they are checked."""

    def __init__(self, *collaborators: Any, **options: Any) -> None:
        super().__init__(*collaborators, **options)
        self._checked: dict[TopicPartition, int] = {}

    async def validate(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Remember the positions first."""
        for key, state in states.items():
            if state.position is not None:
                self._checked[key] = state.position.offset
        await super().validate(states)

    def _take_end(self, key: TopicPartition, state: PartitionState, end: EpochEndOffset) -> None:
        if state.position is not None:
            state.position = replace(state.position, offset=self._checked.pop(key, state.position.offset))
        super()._take_end(key, state, end)


DEFECT: Final = Defect(
    name="validation-restores-old-position",
    lesson=__doc__,
    source="librdkafka#4249; librdkafka#4425",
    affected="librdkafka before 2.4.0",
    anomalies=("validation-race-duplicates",),
    parts={"offset_lookups": RestoringLookups},
)
