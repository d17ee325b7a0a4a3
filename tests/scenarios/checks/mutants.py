"""Weakens the checks one operator at a time, and names the mutants that no case notices.

`python -m tests.scenarios.checks.mutants [MODULE ...]` takes half a minute; the operators are

- a boundary: `<` for `<=`, `>` for `>=`, and back;
- an equality: `==` for `!=`, `is` for `is not`, `in` for `not in`, and back;
- `and` for `or`, and back;
- a guard (`if ...: continue` or `return`) that never holds.

A mutant replaces the code of the function in place, so that every table that holds the function has it. Some mutants
mean the same as the check: a guard that only saves time, an order of equal things, a boundary without a history.
EQUIVALENT lists those that are known.
"""

from __future__ import annotations

import ast
import copy
import inspect
import pkgutil
import sys
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_scenarios import checks
from tests.scenarios.checks.test_mutated_checks import cases, parameters
from tests.scenarios.conftest import Story, values_found_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["EQUIVALENT", "Mutant", "is_noticed", "modules", "mutants_of", "own_cases"]

_COMPARISONS: Final = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OF_HISTORIES: Final = ("per_partition", "per_process", "per_transaction", "per_key", "over_time")
_OF_RUNS: Final = ("diverging_replicas",)
"""The checks that read more than a history; their own tests judge them."""


_ONLY_SAVES_TIME: Final = "the guard saves time alone"
_ONE_VALUE_PER_PLACE: Final = "two records have no offset in common: a conflict has no place"
_PLACES_DIFFER: Final = "the places of invocations and completions in a history all differ"
EQUIVALENT: Final = {
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


class Mutant(NamedTuple):
    """One changed function."""

    name: str
    function: Any
    code: CodeType


def modules() -> Iterator[ModuleType]:
    """The modules of checks of histories."""
    for found in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}."):
        _, _, scope, *name = found.name.split(".")
        if scope in _OF_HISTORIES and name and name[0] not in _OF_RUNS:
            yield import_module(found.name)


def mutants_of(module: ModuleType) -> Iterator[Mutant]:
    """Each function of a module with each change of it."""
    tree = ast.parse(inspect.getsource(module))
    for place, node in enumerate(tree.body):
        if not isinstance(node, ast.FunctionDef):
            continue
        function = getattr(module, node.name)
        sites = [(at, change) for at, part in enumerate(ast.walk(node)) for change in _changes(part)]
        for at, change in sites:
            changed = copy.deepcopy(tree)
            target = next(part for number, part in enumerate(ast.walk(changed.body[place])) if number == at)
            label = change(target)
            line = getattr(target, "lineno", node.lineno)
            compiled = compile(ast.fix_missing_locations(changed), str(module.__file__), "exec")
            code = next(each for each in compiled.co_consts if isinstance(each, CodeType) and each.co_name == node.name)
            short = module.__name__.removeprefix(f"{checks.__name__}.")
            yield Mutant(f"{short}:{line - node.lineno}:{node.name}: {label}", function, code)


def _changes(node: ast.AST) -> Iterator[Callable[[Any], str]]:
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            if type(operator) in _COMPARISONS:
                yield partial(_compare, number=number)
    elif isinstance(node, ast.BoolOp):
        yield _and_or
    elif isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Continue | ast.Return):
        yield _drop_guard


def _compare(target: ast.Compare, number: int) -> str:
    before = ast.unparse(target)
    target.ops[number] = _COMPARISONS[type(target.ops[number])]()
    return f"{before} -> {ast.unparse(target)}"


def _and_or(target: ast.BoolOp) -> str:
    before = ast.unparse(target)
    target.op = ast.Or() if isinstance(target.op, ast.And) else ast.And()
    return f"{before} -> {ast.unparse(target)}"


def _drop_guard(target: ast.If) -> str:
    before = ast.unparse(target.test)
    target.test = ast.Constant(value=False)
    return f"if {before}: never"


@contextmanager
def _applied(mutant: Mutant) -> Iterator[None]:
    before = mutant.function.__code__
    mutant.function.__code__ = mutant.code
    try:
        yield
    finally:
        mutant.function.__code__ = before


def own_cases(module: ModuleType) -> Iterator[Callable[[], None]]:
    """The tests of the check alone, if it has some."""
    *_, scope, name = module.__name__.split(".")
    try:
        tests = import_module(f"tests.scenarios.checks.{scope}.test_{name}")
    except ModuleNotFoundError:
        return
    for _, test in inspect.getmembers(tests, inspect.isfunction):
        if test.__name__.startswith("test_") and test.__module__ == tests.__name__:
            for given in parameters(test):
                yield partial(_with_fixtures, test, given)


def _with_fixtures(test: Callable[..., None], given: Mapping[str, Any]) -> None:
    fixtures = {"story": Story(), "values_found": values_found_by}
    wanted = inspect.signature(test).parameters
    test(**given, **{name: fixture for name, fixture in fixtures.items() if name in wanted})


def is_noticed(mutant: Mutant, own: Sequence[Callable[[], None]] = ()) -> bool:
    """True if a case fails with the mutant, with any error."""
    with _applied(mutant):
        for case in [*own, *(case for _, case in cases())]:
            try:
                case()
            except Exception:  # noqa: BLE001 - a mutant may break a check in any way
                return True
    return False


def main(names: list[str]) -> int:
    """Print the mutants that are not noticed."""
    tried = survived = 0
    for module in modules():
        if names and not any(name in module.__name__ for name in names):
            continue
        own = list(own_cases(module))
        for mutant in mutants_of(module):
            tried += 1
            if mutant.name not in EQUIVALENT and not is_noticed(mutant, own):
                survived += 1
                sys.stdout.write(f"not noticed: {mutant.name}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{tried} mutants, {survived} not noticed\n")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
