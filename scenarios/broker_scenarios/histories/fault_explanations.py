"""The causes of losses in a history of the neutral form: reported faults, retention and compaction.

A fault of a partition explains its losses at any time: clients with old metadata go on sending to the former leader.
Among several causes the one counts that the promises permit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.histories.circumstances import Circumstances
    from broker_scenarios.operations import Value

__all__ = ["FaultExplainer"]

_CAUSE_OF_FAULT: Final = {
    "leader-crash": Cause.LEADER_FAULT,
    "leader-move": Cause.LEADER_FAULT,
    "unclean-election": Cause.UNCLEAN_ELECTION,
}
_LOSSES: Final = (
    FindingKind.LOST_WRITE, FindingKind.SET_LOSS, FindingKind.UNSEEN, FindingKind.TORN_TXN, FindingKind.GHOST_READ,
)  # fmt: skip
_SKIPS: Final = (FindingKind.POLL_SKIP, FindingKind.INT_POLL_SKIP)


class FaultExplainer:
    """Fills in the causes of losses and of what follows from them."""

    def __init__(self, history: WholeHistory, circumstances: Circumstances) -> None:
        self._history = history
        self._circumstances = circumstances
        self._permits = circumstances.promises.allowance_for
        self._last_of_key: dict[str, dict[str, int]] = {}

    def explain(self, finding: Finding) -> None:
        """Set the cause of a finding, unless it has one or no fault explains it."""
        if finding.cause is not Cause.UNEXPLAINED and finding.kind is not FindingKind.NONMONOTONIC_SEND:
            return
        if self._permits(finding) is not None:
            return
        key = f"{finding.topic}-{finding.partition}"
        analysis = self._history.analyses.get(key)
        if analysis is None:
            return
        if finding.kind in _LOSSES:
            self._choose(finding, [list(self._causes(self._where(analysis, each), each)) for each in finding.values])
        elif finding.kind in _SKIPS:
            self._choose(finding, [list(self._causes_of_gap(analysis, value)) for value in finding.values])
        elif finding.kind is FindingKind.NONMONOTONIC_SEND:
            # The offsets of lost records are assigned again: one lost record explains the step down.
            lost = [value for value in finding.values if value not in analysis.readers]
            self._choose(finding, [list(self._faults(analysis)) for value in lost[:1]])
        elif finding.kind is FindingKind.INCONSISTENT_OFFSETS:
            causes = [list(self._faults(analysis)) for value in finding.values]
            # The value that took the offset over needs no explanation.
            self._choose(finding, sorted(causes, key=len)[1:])

    def _where(self, analysis: Analysis, value: Value) -> Analysis:
        """Return the partition of a value: those of a torn transaction may have several."""
        if value in analysis.sends_of or value in analysis.polled:
            return analysis
        return next((each for each in self._history.analyses.values() if value in each.sends_of), analysis)

    def _choose(self, finding: Finding, causes: list[list[Cause]]) -> None:
        """Take the cause of the first value if each value has one that is permitted, else change nothing."""
        unexplained = finding.cause
        chosen: list[Cause] = []
        for each in causes:
            for cause in each:
                finding.cause = cause
                if self._permits(finding) is not None:
                    chosen.append(cause)
                    break
        explained = bool(causes) and len(chosen) == len(causes)
        finding.cause = chosen[0] if explained else unexplained

    def _causes(self, analysis: Analysis, value: Value) -> Iterator[Cause]:
        yield from self._cleanups(analysis, value)
        yield from self._faults(analysis)

    def _causes_of_gap(self, analysis: Analysis, value: Value) -> Iterator[Cause]:
        yield from self._cleanups(analysis, value)
        sends = analysis.sends_of.get(value, ())
        if sends and all(send.transactional and not send.acked for send in sends):
            yield Cause.UNCOMMITTED
        is_lost = value not in analysis.stored if analysis.log_known else value not in analysis.readers
        if is_lost:
            yield from self._faults(analysis)

    def _cleanups(self, analysis: Analysis, value: Value) -> Iterator[Cause]:
        if self._is_below_start(analysis, value):
            yield Cause.RETENTION
        if self._is_compacted(analysis, value):
            yield Cause.COMPACTION

    def _faults(self, analysis: Analysis) -> Iterator[Cause]:
        for fault in self._circumstances.faults:
            cause = _CAUSE_OF_FAULT.get(fault.kind)
            if cause is not None and fault.key in (None, analysis.key):
                yield cause

    def _is_below_start(self, analysis: Analysis, value: Value) -> bool:
        return -1 < self._offset_of(analysis, value) < analysis.log_start

    def _is_compacted(self, analysis: Analysis, value: Value) -> bool:
        if not self._circumstances.compacted:
            return False
        name = self._circumstances.message_keys.get(str(value))
        return name is not None and self._offset_of(analysis, value) < self._last_offsets(analysis).get(name, -1)

    def _offset_of(self, analysis: Analysis, value: Value) -> int:
        acked = max((send.ack_offset for send in analysis.sends_of.get(value, ())), default=-1)
        return acked if acked >= 0 else max(analysis.polled.get(value, ()), default=-1)

    def _last_offsets(self, analysis: Analysis) -> dict[str, int]:
        """Return the highest offset of each message key in a partition."""
        if analysis.key not in self._last_of_key:
            last = self._last_of_key[analysis.key] = {}
            values = dict.fromkeys([*analysis.sends_of, *analysis.polled, *analysis.stored])
            for value in values:
                name = self._circumstances.message_keys.get(str(value))
                if name is not None:
                    held = analysis.stored.get(value)
                    offset = max(held) if held else self._offset_of(analysis, value)
                    last[name] = max(last.get(name, -1), offset)
        return self._last_of_key[analysis.key]
