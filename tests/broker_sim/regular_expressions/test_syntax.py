"""Trees of expressions; the errors are in the recorded cases of `tests/differential` and in test_matching.py."""

from __future__ import annotations

import pytest

from broker_sim.regular_expressions.syntax import (
    Alternatives,
    Assertion,
    InvalidRegex,
    Repetition,
    Sequence,
    parse,
)


def test_a_repetition_takes_the_last_character():
    node = parse("ab{2,}")
    assert isinstance(node, Sequence)
    _, repeated = node.nodes
    assert isinstance(repeated, Repetition)
    assert (repeated.low, repeated.high) == (2, None)


def test_lines_are_assertions_of_their_own():
    node = parse("(?m)^|$")
    assert isinstance(node, Alternatives)
    assert [each.nodes for each in node.nodes] == [[Assertion.LINE_BEGIN], [Assertion.LINE_END]]


def test_flags_end_with_their_group():
    node = parse("(a(?i)b)c")
    assert isinstance(node, Sequence)
    group, last = node.nodes
    assert isinstance(group, Sequence)
    assert ["B" in each for each in group.nodes] == [False, True]
    assert "C" not in last


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        (r"\x{110000}", "invalid escape sequence"),
        ("(?<n", "invalid named capture"),
        ("{{2}", "invalid nested repetition operator"),
        (r"\p{Cn}", "invalid character class range"),
        ("[a\\", "trailing backslash at end of expression"),
    ],
)
def test_an_expression_that_ends_early_or_nests_is_refused(regex, text):
    with pytest.raises(InvalidRegex, match=f"^{text}$"):
        parse(regex)
