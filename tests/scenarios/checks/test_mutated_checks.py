"""The checker, weakened in one place: the cases of anomalies, of Jepsen and of legal oddities notice each mutation."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.checks import history_check, partition_check
from broker_scenarios.checks.calls import Call, Send
from broker_scenarios.checks.observed_log import ObservedLog
from broker_scenarios.checks.per_process import abort_classes, poll_moves
from broker_scenarios.findings import Outcome
from broker_scenarios.histories import judge, neutral_fold
from broker_scenarios.histories.fault_explanations import FaultExplainer
from broker_scenarios.histories.neutral_fold import NeutralFold
from broker_scenarios.history import EventType
from broker_scenarios.promises import Allowance, Promises
from tests.scenarios.checks import (
    test_anomalies,
    test_boundaries,
    test_cases_of_jepsen,
    test_controls,
    test_foreign_histories,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from broker_scenarios.findings import FindingKind

MODULES = (test_boundaries, test_anomalies, test_cases_of_jepsen, test_controls, test_foreign_histories)
Patch = pytest.MonkeyPatch


def cases() -> Iterator[tuple[str, Callable[[], None]]]:
    """Every test of the modules, with each of its parameters."""
    for module in MODULES:
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and test.__module__ == module.__name__:
                for number, given in enumerate(parameters(test)):
                    yield f"{name}[{number}]", lambda test=test, given=given: test(**given)


def parameters(test: Any) -> list[Mapping[str, Any]]:
    """The parameters of each case of a test; several marks are combined."""
    found: list[Mapping[str, Any]] = [{}]
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, rows = mark.args[:2]
            names = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
            given = [dict(zip(names, row if len(names) > 1 else (row,), strict=True)) for row in rows]
            found = [{**one, **other} for one in found for other in given]
    return found


def failing() -> Iterator[str]:
    """The names of the cases that the checker, as it is now, does not pass."""
    for name, case in cases():
        try:
            case()
        except (AssertionError, KeyError):
            yield name


def test_the_cases_hold() -> None:
    assert list(failing()) == []
    assert len(list(cases())) > 100


# Mutations


def unknown_is_a_failure(patch: Patch) -> None:
    patch.setitem(neutral_fold.OUTCOME_OF, EventType.INFO, Outcome.FAILED)


def unknown_is_a_success(patch: Patch) -> None:
    patch.setitem(neutral_fold.OUTCOME_OF, EventType.INFO, Outcome.ACKED)


def failure_is_unknown(patch: Patch) -> None:
    patch.setitem(neutral_fold.OUTCOME_OF, EventType.FAIL, Outcome.UNKNOWN)


def no_final_polls(patch: Patch) -> None:
    whole = NeutralFold.whole

    def mutated(self: NeutralFold, *given: Any) -> Any:
        history = whole(self, *given)
        for analysis in history.analyses.values():
            analysis.finally_polled = False
        return history

    patch.setattr(NeutralFold, "whole", mutated)


def final_polls_everywhere(patch: Patch) -> None:
    whole = NeutralFold.whole

    def mutated(self: NeutralFold, *given: Any) -> Any:
        history = whole(self, *given)
        for analysis in history.analyses.values():
            analysis.finally_polled = True
        return history

    patch.setattr(NeutralFold, "whole", mutated)


def first_and_last_are_swapped(patch: Patch) -> None:
    offsets_of = ObservedLog.offsets_of

    def up_to(self: ObservedLog, bound: int) -> list[Any]:
        return [value for value in self._one if offsets_of(self, value)[0] <= bound]

    patch.setattr(ObservedLog, "up_to", up_to)
    patch.setattr(ObservedLog, "offsets_of", lambda self, value: offsets_of(self, value)[::-1])


def the_last_offset_bounds(patch: Patch) -> None:
    patch.setattr(ObservedLog, "offsets_of", lambda self, value: [max(self._several.get(value, [self._one[value]]))])


def conflicts_have_a_place(patch: Patch) -> None:
    patch.setattr(ObservedLog, "place_of", lambda self, value: self._one.get(value))


def nothing_is_proved(patch: Patch) -> None:
    patch.setattr(Send, "committed", property(lambda send: send.acked))


def everything_is_committed(patch: Patch) -> None:
    patch.setattr(Send, "committed", property(lambda _: True))


def nothing_is_permitted(patch: Patch) -> None:
    patch.setattr(Promises, "allowance_for", lambda *_: None)


def everything_is_permitted(patch: Patch) -> None:
    def allow(_: Promises, finding: Any) -> Allowance:
        return Allowance(kind=finding.kind, reason="mutated")

    patch.setattr(Promises, "allowance_for", allow)


def no_fault_explains(patch: Patch) -> None:
    patch.setattr(FaultExplainer, "_faults", lambda *_: iter(()))


def no_retention_explains(patch: Patch) -> None:
    patch.setattr(FaultExplainer, "_is_below_start", lambda *_: False)


def no_compaction_explains(patch: Patch) -> None:
    patch.setattr(FaultExplainer, "_is_compacted", lambda *_: False)


def all_is_compacted(patch: Patch) -> None:
    patch.setattr(FaultExplainer, "_is_compacted", lambda *_: True)


def logs_are_ignored(patch: Patch) -> None:
    patch.setattr(judge, "add_log", lambda *_: None)


def assignments_keep_everything(patch: Patch) -> None:
    patch.setattr(poll_moves, "forgotten_keys", lambda *_: [])


def assignments_keep_nothing(patch: Patch) -> None:
    patch.setattr(poll_moves, "forgotten_keys", lambda call, keys: list(keys) if call.f == "assign" else [])


def rebalances_are_ignored(patch: Patch) -> None:
    moves = poll_moves.moves_within_calls

    def mutated(history: Any) -> Any:
        for call in history.calls:
            if call.details is not None:
                call.details.rebalanced = ()
        return moves(history)

    for module in (history_check.int_poll_skips, history_check.int_nonmonotonic_polls):
        patch.setitem(module.__globals__, "moves_within_calls", mutated)


def aborted_polls_move_the_place(patch: Patch) -> None:
    patch.setattr(Call, "ok", property(lambda call: call.type is not EventType.INVOKE))


def every_send_is_on_time(patch: Patch) -> None:
    patch.setitem(partition_check.unresolved.__globals__, "is_overdue", lambda *_: False)
    patch.setattr(judge, "is_overdue", lambda *_: False)


def nothing_is_unknown(patch: Patch) -> None:
    patch.setattr(judge, "_not_judged", lambda _: iter(()))


def real_time_is_ignored(patch: Patch) -> None:
    patch.setitem(history_check.cycles.__globals__, "_SEARCHES", history_check.cycles.__globals__["_SEARCHES"][:3])


def write_order_does_not_matter(patch: Patch) -> None:
    searches = [each for each in history_check.cycles.__globals__["_SEARCHES"] if len(each.edges) == 1]
    patch.setitem(history_check.cycles.__globals__, "_SEARCHES", searches)


def rewinding_is_not_seen(patch: Patch) -> None:
    patch.setattr(abort_classes, "REWOUND", abort_classes.UNCHANGED)


MUTATIONS = [
    value for name, value in list(globals().items()) if inspect.isfunction(value) and "patch" in value.__annotations__
]


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_weakened_check_is_noticed(mutate: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutate(monkeypatch)
    assert next(failing(), None) is not None


@pytest.mark.parametrize("name", [*partition_check.CHECKS, *history_check.WIDER_CHECKS])
def test_a_check_that_is_left_out_is_noticed(name: str, monkeypatch: Patch) -> None:
    for table in (partition_check.CHECKS, history_check.WIDER_CHECKS):
        if name in table:
            monkeypatch.delitem(table, name)  # type: ignore[arg-type]
    assert next(failing(), None) is not None


def allowances() -> dict[FindingKind, None]:
    every = Promises(acks=0, enable_idempotence=False, unclean_leader_election=True, read_committed=False)
    return dict.fromkeys(allowance.kind for allowance in every.allowances())


@pytest.mark.parametrize("kind", allowances())
def test_a_permission_that_is_dropped_is_noticed(kind: FindingKind, monkeypatch: Patch) -> None:
    allowances = Promises.allowances
    monkeypatch.setattr(
        Promises, "allowances", lambda self: tuple(each for each in allowances(self) if each.kind is not kind)
    )
    assert next(failing(), None) is not None
