"""The mutants of a module: each of its functions and methods with one operator changed.

- a boundary: `<` for `<=`, `>` for `>=`, and back;
- an equality: `==` for `!=`, `is` for `is not`, `in` for `not in`, and back;
- `and` for `or`, and back; `x` for `not x`;
- a guard (`if ...: continue` or `return`) that never holds.

A mutant replaces the code of the function in place, so that every table that holds the function has it.
"""

from __future__ import annotations

import ast
import copy
import inspect
from contextlib import contextmanager
from functools import cached_property, partial
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

__all__ = ["Mutant", "applied", "mutants_of", "short_name"]

_PACKAGE: Final = "broker_scenarios."
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


class Mutant(NamedTuple):
    """One changed function."""

    name: str
    module: ModuleType
    function: Any
    code: CodeType


def short_name(module: str) -> str:
    """The name of a module within the package; that of a check has no `checks`."""
    return module.removeprefix(_PACKAGE).removeprefix("checks.")


def mutants_of(module: ModuleType) -> Iterator[Mutant]:
    """Each function and method of a module with each change of it."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef):
            yield from _of_function(module, node, _function_of(getattr(module, node.name)), None)
        elif isinstance(node, ast.ClassDef):
            members = vars(getattr(module, node.name))
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    yield from _of_function(module, each, _function_of(members[each.name]), node.name)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The function is the mutant meanwhile."""
    before = mutant.function.__code__
    mutant.function.__code__ = mutant.code
    _forget_results(mutant.module)
    try:
        yield
    finally:
        mutant.function.__code__ = before
        _forget_results(mutant.module)


def _forget_results(module: ModuleType) -> None:
    for each in vars(module).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def _function_of(member: Any) -> Any:
    """The function within a property, a class method or a cache."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return inspect.unwrap(getattr(member, "__func__", member))


def _of_function(module: ModuleType, node: ast.FunctionDef, function: Any, owner: str | None) -> Iterator[Mutant]:
    sites = [(at, change) for at, part in enumerate(ast.walk(node)) for change in _changes(part)]
    for at, change in sites:
        changed = copy.deepcopy(node)
        target = next(part for number, part in enumerate(ast.walk(changed)) if number == at)
        label = change(target)
        line = getattr(target, "lineno", node.lineno) - node.lineno
        name = node.name if owner is None else f"{owner}.{node.name}"
        yield Mutant(
            f"{short_name(module.__name__)}:{line}:{name}: {label}", module, function, _compiled(changed, owner)
        )


def _compiled(node: ast.FunctionDef, owner: str | None) -> CodeType:
    """The code of a function; that of a method is compiled in its class, for its private names and `super()`."""
    whole: list[ast.stmt] = [node]
    if owner is not None:
        whole = [ast.ClassDef(name=owner, bases=[], keywords=[], body=whole, decorator_list=[], type_params=[])]
    code = compile(ast.fix_missing_locations(ast.Module(body=whole, type_ignores=[])), "<mutant>", "exec")
    for name in (owner, node.name):
        if name is not None:
            code = next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)
    return code


def _changes(node: ast.AST) -> Iterator[Callable[[Any], str]]:
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            if type(operator) in _COMPARISONS:
                yield partial(_compare, number=number)
    elif isinstance(node, ast.BoolOp):
        yield _and_or
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _drop_not
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


def _drop_not(target: ast.UnaryOp) -> str:
    before = ast.unparse(target)
    target.op = ast.UAdd()
    target.operand = ast.Call(func=ast.Name(id="bool", ctx=ast.Load()), args=[target.operand], keywords=[])
    return f"{before} -> {ast.unparse(target.operand.args[0])}"


def _drop_guard(target: ast.If) -> str:
    before = ast.unparse(target.test)
    target.test = ast.Constant(value=False)
    return f"if {before}: never"
