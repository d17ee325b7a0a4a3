from __future__ import annotations

import errno

import pytest

from sim_runtime.spelling import numbers, plural, reason_of, shortened


def test_a_count_has_its_noun_in_the_singular_or_the_plural() -> None:
    assert [plural(count, "time") for count in (0, 1, 1_200)] == ["0 times", "1 time", "1,200 times"]
    assert plural(2, "reply", "replies") == "2 replies"
    assert [numbers("offset", 1_000, count) for count in (1, 3)] == ["offset 1,000", "offsets 1,000 to 1,002"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"), "No such file or directory"),
        (OSError("a text alone"), "a text alone"),
        (ValueError("line 1\n  column 2"), "line 1 column 2"),
    ],
)
def test_a_reason_has_neither_the_number_of_an_error_nor_its_path(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


def test_a_long_text_is_shortened_to_its_beginning() -> None:
    assert shortened("x" * 60) == "x" * 60
    assert shortened("x" * 61) == "x" * 60 + "..."
