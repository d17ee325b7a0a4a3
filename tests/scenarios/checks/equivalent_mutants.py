"""The mutants that mean the same as the code: a guard that only saves time, an order of equal things, and the like."""

from __future__ import annotations

from typing import Final

__all__ = ["EQUIVALENT"]

_ONLY_SAVES_TIME: Final = "the guard saves time alone"
_ONE_VALUE_PER_PLACE: Final = "two records have no offset in common: a conflict has no place"
_PLACES_DIFFER: Final = "the places of invocations and completions in a history all differ"
EQUIVALENT: Final = {
    "histories.circumstances:1:_Reader.text: if isinstance(data, bool): never": "configurations have no upper case",
    "histories.neutral_fold:8:NeutralFold._complete: each.invoked_at < call.invoked_at -> each.invoked_at <= "
    "call.invoked_at": _PLACES_DIFFER,
    "operations:29:_op: data.keys() <= _ALONE -> data.keys() < _ALONE": _ONLY_SAVES_TIME,
    "invariants.acknowledged_records_kept:10:AcknowledgedRecordsKept._completed: acknowledged[:2] > latest[:2] -> "
    "acknowledged[:2] >= latest[:2]": "a place in an epoch has one batch: one-value-per-epoch-and-offset finds another",
    "over_time.realtime_lag:1:_Expiry.add: offset > self.offsets[-1] -> offset >= self.offsets[-1]": (
        "the first time of an offset is found first"
    ),
    "over_time.realtime_lag:2:_assigned: call.f is Function.ASSIGN and call.details is not None -> call.f is "
    "Function.ASSIGN or call.details is not None": "an assign has details, and a subscribe neither assigns nor seeks",
    "per_key.key_order:2:key_order: if not history.message_keys: never": _ONLY_SAVES_TIME,
    "per_partition.lost_writes:4:passed_by_readers: if bound < 0: never": _ONLY_SAVES_TIME,
    "per_process.abort_classes:11:abort_classes: now < first -> now <= first": "the equal case comes before",
    "per_process.poll_moves:3:moves_within_calls: if not call.polls: never": _ONLY_SAVES_TIME,
    "per_process.poll_skips:2:skip: if move.second <= move.first + 1: never": _ONLY_SAVES_TIME,
    "per_process.poll_skips:2:skip: move.second <= move.first + 1 -> move.second < move.first + 1": (
        "nothing is in between"
    ),
    "per_transaction.cycles:7:_findings: len(each) > 1 -> len(each) >= 1": "no operation depends on itself",
    "per_transaction.precommitted_reads:3:precommitted_reads: if not (call.sends and call.polls): never": (
        _ONLY_SAVES_TIME
    ),
    "per_transaction.precommitted_reads:3:precommitted_reads: call.sends and call.polls -> call.sends or call.polls": (
        _ONLY_SAVES_TIME
    ),
    "truth:34:read_truth: if files is not None and files.add_log(log, topic, partition): never": _ONLY_SAVES_TIME,
    "per_process.int_send_skips:3:int_send_skips: if len(call.sends) < 2: never": _ONLY_SAVES_TIME,
    "per_process.int_send_skips:11:int_send_skips: second > first + 1 -> second >= first + 1": "nothing is in between",
    "per_process.nonmonotonic_sends:5:fewest_out_of_order: if all((before < after for before, after in "
    "pairwise(offsets))): never": _ONLY_SAVES_TIME,
    "per_process.nonmonotonic_sends:2:_descents: if all((before.offset < after.offset for before, after in "
    "pairwise(placed))): never": _ONLY_SAVES_TIME,
    "per_process.nonmonotonic_sends:2:_descents: before.offset < after.offset -> before.offset <= after.offset": (
        _ONE_VALUE_PER_PLACE
    ),
    "per_process.nonmonotonic_sends:8:_descents: now.offset <= before.offset -> now.offset < before.offset": (
        _ONE_VALUE_PER_PLACE
    ),
    "per_process.nonmonotonic_sends:12:_causes: known > offset -> known >= offset": _ONE_VALUE_PER_PLACE,
    "per_process.nonmonotonic_sends:14:_causes: acked > offset -> acked >= offset": _ONE_VALUE_PER_PLACE,
    "per_process.nonmonotonic_sends:17:_causes: highest > offset -> highest >= offset": _ONE_VALUE_PER_PLACE,
    "per_transaction.dependencies:2:_Edges.between: alive[edge[0]] and alive[edge[1]] -> alive[edge[0]] or "
    "alive[edge[1]]": "an operation that was removed is in no cycle",
    "per_transaction.dependencies:11:cyclic_core: if not left: never": _ONLY_SAVES_TIME,
    "per_transaction.dependencies:5:_writer: call is None or call.type is EventType.INVOKE -> call is None and "
    "call.type is EventType.INVOKE": "the edges of an open operation are left out as it is never alive",
    "per_transaction.dependencies:6:_process_order: before.completed_at < after.invoked_at -> before.completed_at <= "
    "after.invoked_at": _PLACES_DIFFER,
    "per_transaction.dependencies:12:_real_time: before.completed_at >= call.invoked_at -> before.completed_at > "
    "call.invoked_at": _PLACES_DIFFER,
    "per_transaction.dependencies:23:_peel: ends[by_end[earliest]] < begin -> ends[by_end[earliest]] <= begin": (
        _PLACES_DIFFER
    ),
}
"""The mutants that mean the same as the check, with the reason."""
