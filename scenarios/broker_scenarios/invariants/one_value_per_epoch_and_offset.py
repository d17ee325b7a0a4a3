"""one-value-per-epoch-and-offset: in one leader epoch each offset is assigned once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant, PartitionKey
from broker_sim.control.events import BatchAppended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event

__all__ = ["OneValuePerEpochAndOffset"]


class OneValuePerEpochAndOffset(Invariant):
    """Remembers the last offset of each epoch."""

    kind = FindingKind.ONE_VALUE_PER_EPOCH_AND_OFFSET
    claim = "in one leader epoch each offset is assigned once"
    events = (BatchAppended,)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._last: dict[tuple[PartitionKey, int], int] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return a batch that begins at or before the last offset of its epoch."""
        assert isinstance(event, BatchAppended), "it is the only kind"
        partition = self.cluster.hosted(event)
        if partition is None or event.leader_epoch < 0:
            return
        key = ((partition.topic_id, event.partition), event.leader_epoch)
        last = self._last.get(key, -1)
        self._last[key] = max(last, event.last_offset)
        if event.base_offset <= last:
            yield Broken(
                subject=(key, event.base_offset),
                detail=(
                    f"broker {event.broker_id} assigns offset {event.base_offset} again in leader epoch "
                    f"{event.leader_epoch}, which had reached {last}"
                ),
                topic=event.topic,
                partition=event.partition,
                offset=event.base_offset,
            )
