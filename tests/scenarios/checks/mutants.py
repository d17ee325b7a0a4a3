"""Weakens the checks one operator at a time, and names the mutants that no case notices.

`python -m tests.scenarios.checks.mutants [MODULE ...]` takes minutes; the operators are

- a boundary: `<` for `<=`, `>` for `>=`, and back;
- an equality: `==` for `!=`, `is` for `is not`, `in` for `not in`, and back;
- `and` for `or`, and back;
- a guard (`if ...: continue` or `return`) that never holds.

A mutant replaces the code of the function in place, so that every table that holds the function has it. Some mutants
mean the same as the check: a guard that only saves time, an order of equal things, a boundary without a history.
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
from tests.scenarios.checks.test_mutated_checks import cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Mutant", "is_noticed", "modules", "mutants_of"]

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


def is_noticed(mutant: Mutant) -> bool:
    """True if a case fails with the mutant, with any error."""
    with _applied(mutant):
        for _, case in cases():
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
        for mutant in mutants_of(module):
            tried += 1
            if not is_noticed(mutant):
                survived += 1
                sys.stdout.write(f"not noticed: {mutant.name}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{tried} mutants, {survived} not noticed\n")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
