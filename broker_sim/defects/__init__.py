"""Documented bugs of brokers, one per file, for scenarios that show their effect; `DEFECTS` finds them by name.

`Cluster(defects=["dedup-returns-45"])` has one on all brokers, `defects=["2:dedup-returns-45"]` on broker 2 alone.
In a scenario, `cluster.defects` or the option `--defect` names it. Without one nothing of this package is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_sim.defects.defect import Defect

__all__ = ["DEFECTS"]

MODULES: Final = (
    "dedup_returns_45",
    "dedup_returns_46",
    "dedup_none",
    "dedup_returns_offset_0",
    "dedup_returns_no_offset",
    "offset_before_append",
    "requests_overtake",
    "acks_0_errors_are_ignored",
    "throttled_requests_keep_their_bytes",
    "appends_after_io_error",
    "isr_join_before_epoch_start",
    "high_watermark_ignores_newcomers",
    "high_watermark_stalls_after_reassignment",
    "broker_epochs_are_ignored",
    "read_above_high_watermark",
    "selector_ignores_log_start",
    "cleaner_loses_abort_markers",
    "read_committed_above_stable_offset",
    "old_epochs_write",
    "sequences_outlive_aborts",
    "verification_forgets_sequences",
    "moved_coordinator_loses_a_marker",
    "transactional_offsets_of_any_member",
    "loading_group_has_no_offsets",
    "repeated_heartbeats_are_fenced",
)
"""The files with defects, in the order of the reference."""


def _defects() -> Iterator[Defect]:
    for module in MODULES:
        defect: Defect = import_module(f"{__name__}.{module}").DEFECT
        yield defect


DEFECTS: Final[Mapping[str, Defect]] = {defect.name: defect for defect in _defects()}
