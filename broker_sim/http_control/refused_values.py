"""The problem of a value that has another type than its operation expects: `ms: expected a number, not "x"`."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from sim_runtime.spelling import shortened

__all__ = ["RefusedValue", "refused_value"]

_AT: Final = re.compile(r"(?P<problem>.*?)(?: - at `(?:key in )?\$(?P<at>.*)`)?", re.DOTALL)
_EXPECTED: Final = re.compile(r"Expected `(?P<types>[^`]+)`(?P<limit>.*?)(?:, got `[^`]+`)?", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_WORDS: Final = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


class RefusedValue(NamedTuple):
    """`path` leads to the value (`config.*`: of any key), empty for the whole; `problem` has what was expected."""

    path: str
    problem: str


def refused_value(text: str, value: Any) -> RefusedValue:
    """Return what is wrong with `value`, which msgspec refuses with `text`."""
    whole = _AT.fullmatch(text)
    assert whole is not None  # its last group is optional, its first any text
    steps = [name or index for name, index in _STEP.findall(whole["at"] or "")]
    found, is_found = _value_at(value, steps)
    path = ".".join("*" if step == "..." else step for step in steps)
    missing = _MISSING.fullmatch(whole["problem"])
    if missing is not None:
        return RefusedValue(".".join([*steps, missing["name"]]), "missing")
    expected = _EXPECTED.fullmatch(whole["problem"])
    if expected is None:
        return RefusedValue(path, whole["problem"])
    words = " or ".join(_WORDS.get(kind, kind) for kind in expected["types"].split(" | "))
    given = f", not {shortened(json.dumps(found, ensure_ascii=False))}" if is_found else ""
    return RefusedValue(path, f"expected {words}{expected['limit']}{given}")


def _value_at(value: Any, steps: list[str]) -> tuple[Any, bool]:
    """Return the value at the end of a path, and True if it is there: `...` is any key of an object."""
    for step in steps:
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, TypeError, ValueError):
            return None, False
    return value, True
