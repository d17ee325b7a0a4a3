"""Our assignors give the assignments of Java's 4.3.1, byte by byte; `tests.interop.java_assignments` records them."""

from __future__ import annotations

import base64

import pytest

from tests.client.core.groups.assignors.assignor_cases import CASES, case
from tests.client.core.groups.assignors.recorded_assignments import recorded

AT_ONCE = 20


def lines(first: int) -> list[str]:
    return [
        " ".join(f"{member}={base64.b64encode(data).decode()}" for member, data in case(number).assigned().items())
        for number in range(first, first + AT_ONCE)
    ]


@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_assignments_are_those_of_java(first: int) -> None:
    assert lines(first) == recorded()[first : first + AT_ONCE]
