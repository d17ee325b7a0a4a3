"""Matches of whole texts."""

from __future__ import annotations

import pytest

from broker_sim.regular_expressions.program import Program, TooManyPlaces
from broker_sim.regular_expressions.syntax import parse


@pytest.mark.parametrize(
    ("regex", "text", "matches"),
    [
        ("a{2,3}", "aa", True),
        ("a{2,3}", "aaaa", False),
        ("(|a)+", "", True),
        (r"(?m)a$\n^b", "a\nb", True),
        (r"a$\n^b", "a\nb", False),
        (r"a\b-\Bb?", "a-", True),
        (r"a\bb", "ab", False),
        ("(?s).", "\n", True),
        (".", "\n", False),
        ("(ab|a)(c|bcd)", "abcd", True),
        ("((a{10}){10}){11}", "a" * 1100, True),
        ("((a{10}){10}){11}", "a" * 1000, False),
    ],
)
def test_the_whole_text_must_match(regex, text, matches):
    program = Program(parse(regex))
    assert program.matches(text) is matches
    assert program.matches(text) is matches  # by the moves that it remembers


def test_nested_repetitions_take_no_time_that_grows_with_their_number_of_ways():
    assert not Program(parse("(a*)*(a|aa)*b")).matches("a" * 2_000)


def test_repetitions_of_what_may_be_empty_are_refused_where_the_stack_of_re2j_ends():
    assert Program(parse("((a?){1000}){3}")).matches("aa")
    with pytest.raises(TooManyPlaces, match="17500 places"):
        Program(parse("((a?){1000}){4}")).matches("")
    with pytest.raises(TooManyPlaces):
        Program(parse("((a?){1000}){1000}")).matches("a")
