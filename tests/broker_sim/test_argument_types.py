from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.argument_types import address, positive, seed, whole

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (whole, "-3", -3),
        (positive, "1", 1),
        (seed, "0", 0),
        (seed, str(2**63 - 1), 2**63 - 1),
        (address, "localhost:9092", ("localhost", 9092)),
        (address, "::1:65535", ("::1", 65535)),
    ],
)
def test_a_valid_text_is_read(form: Callable[[str], Any], text: str, value: object) -> None:
    assert form(text) == value


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        (whole, "1.5", "a whole number"),
        (positive, "0", "at least 1"),
        (seed, "-1", "from 0 to"),
        (seed, str(2**63), "from 0 to"),
        (address, "9092", "HOST:PORT"),
        (address, ":9092", "HOST:PORT"),
        (address, "localhost:0", "HOST:PORT"),
        (address, "localhost:65536", "HOST:PORT"),
        (address, "localhost:kafka", "HOST:PORT"),
        (address, "a:9092,b:9092", "HOST:PORT"),
    ],
)
def test_another_text_is_refused_with_the_expected_form(form: Callable[[str], Any], text: str, expected: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^'{text}': expected .*{expected}"):
        form(text)
