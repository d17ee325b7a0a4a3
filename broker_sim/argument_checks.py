"""Checks the arguments of public verbs by their annotations, before a verb runs in another thread or at a later time.

`checks_arguments` decorates a class. It checks the annotations of `_KINDS`, alone or in a union; a parameter with any
other type is left to its verb, which has more to check than a type.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, TypeVar

from broker_sim.errors import BrokerSimError
from sim_runtime.spelling import shortened

__all__ = ["WrongArgument", "checks_arguments"]

__tracebackhide__ = True

_Class = TypeVar("_Class", bound=type)


class WrongArgument(BrokerSimError, TypeError):
    """An argument of a wrong type; the message names the verb, the argument, its value and what is expected."""


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return isinstance(value, Integral) or math.isfinite(value)


def _are_whole(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping)) and all(map(_is_whole, value))


_KINDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a finite number"),
    "str": (lambda value: isinstance(value, str), "a text"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "Path": (lambda value: isinstance(value, Path), "a pathlib.Path"),
    "Sequence[int]": (_are_whole, "a list of whole numbers"),
    "Collection[int]": (_are_whole, "a list of whole numbers"),
    "Mapping[str, str | int | bool | None]": (lambda value: isinstance(value, Mapping), "a mapping"),
    "None": (lambda value: value is None, "None"),
}


def checks_arguments(cls: _Class) -> _Class:
    """Have the public methods of a class raise WrongArgument for an argument that is not of its annotated type."""
    for name, function in list(vars(cls).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            checks = dict(_checks_of(function))
            if checks:
                setattr(cls, name, _checked(function, checks))
    return cls


def _checks_of(function: Callable[..., Any]) -> Iterable[tuple[str, tuple[list[Callable[[object], bool]], str]]]:
    for name, annotation in inspect.get_annotations(function).items():
        kinds = [annotation] if annotation in _KINDS else str(annotation).split(" | ")
        if name != "return" and all(kind in _KINDS for kind in kinds):
            checks, texts = zip(*(_KINDS[kind] for kind in kinds), strict=True)
            yield name, (list(checks), " or ".join(texts))


def _checked(function: Callable[..., Any], checks: Mapping[str, tuple[list[Callable[[object], bool]], str]]) -> Any:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def verb(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        for name, value in signature.bind(*arguments, **options).arguments.items():
            if name in checks and not any(check(value) for check in checks[name][0]):
                given = f"{name}={shortened(repr(value))}"
                raise WrongArgument(f"{function.__name__}: {given}: expected {checks[name][1]}")
        return function(*arguments, **options)

    return verb
