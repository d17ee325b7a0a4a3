"""Invariants during a run: claims that a scenario's `always` names, checked at each journal event that concerns them.

Each file has one. A broken one is a finding that names the event. Without `always` nothing here is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.invariants.acknowledged_records_kept import AcknowledgedRecordsKept
from broker_scenarios.invariants.high_watermark_within_isr import HighWatermarkWithinIsr
from broker_scenarios.invariants.markers_follow_decisions import MarkersFollowDecisions
from broker_scenarios.invariants.never_back import HighWatermarkNeverBack, LogStartNeverBack
from broker_scenarios.invariants.one_controller_per_epoch import OneControllerPerEpoch
from broker_scenarios.invariants.one_leader_per_epoch import OneLeaderPerEpoch
from broker_scenarios.invariants.one_owner_per_partition import OneOwnerPerPartition
from broker_scenarios.invariants.one_value_per_epoch_and_offset import OneValuePerEpochAndOffset
from broker_scenarios.invariants.stable_offset_within_transactions import StableOffsetWithinTransactions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.invariants.invariant import Invariant

__all__ = ["INVARIANTS"]

INVARIANTS: Final[Mapping[str, type[Invariant]]] = {
    invariant.kind.value: invariant
    for invariant in (
        HighWatermarkWithinIsr,
        HighWatermarkNeverBack,
        LogStartNeverBack,
        StableOffsetWithinTransactions,
        AcknowledgedRecordsKept,
        OneLeaderPerEpoch,
        OneValuePerEpochAndOffset,
        OneControllerPerEpoch,
        OneOwnerPerPartition,
        MarkersFollowDecisions,
    )
}
"""Every invariant by its name."""
