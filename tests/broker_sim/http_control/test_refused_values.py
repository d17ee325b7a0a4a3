from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from broker_sim.http_control.refused_values import refused_value


@dataclass
class Body:
    """One field per kind of value."""

    count: int
    counts: dict[str, int] | None = None
    names: list[str] | None = None
    share: float = 0
    on: bool = False


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ([], "", "expected an object, not []"),
        ({}, "count", "missing"),
        ({"count": "1"}, "count", 'expected a whole number, not "1"'),
        ({"count": 1, "counts": 3}, "counts", "expected an object or null, not 3"),
        ({"count": 1, "counts": {"a": "b"}}, "counts.*", "expected a whole number"),
        ({"count": 1, "names": ["a", 3]}, "names.1", "expected a text, not 3"),
        ({"count": 1, "share": "x" * 99}, "share", f'expected a number, not "{"x" * 59}...'),
        ({"count": 1, "on": None}, "on", "expected true or false, not null"),
    ],
)
def test_a_value_of_a_wrong_type_has_its_path_and_what_was_expected(value: Any, path: str, problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(value, Body)
    assert refused_value(str(refused.value), value) == (path, problem)


def test_another_text_is_kept() -> None:
    assert refused_value("Invalid enum value 'x' - at `$.a`", {"a": "x"}) == ("a", "Invalid enum value 'x'")
