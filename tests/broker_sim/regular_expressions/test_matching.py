"""Expressions of RE2: matches of whole names, and the errors of RE2J (recorded from a real 4.3.1)."""

from __future__ import annotations

import pytest

from broker_sim.regular_expressions.matching import InvalidRegex, check_regex, matching_texts

TOPICS = ["a", "b", "ab", "a.b", "A", "1", "_", "-", "a{,2}"]


@pytest.mark.parametrize(
    ("regex", "topics"),
    [
        ("a|b", {"a", "b"}),
        ("a.*", {"a", "ab", "a.b", "a{,2}"}),
        ("(?i)A", {"a", "A"}),
        ("(?i:A)b", {"ab"}),
        (r"\pN", {"1"}),
        (r"\PN", {"a", "b", "A", "_", "-"}),
        (r"[\pN_]", {"1", "_"}),
        (r"\p{Greek}|a", {"a"}),
        ("[[:upper:]]", {"A"}),
        ("[^a-z]", {"A", "1", "_", "-"}),
        (r"\Qa.b\E", {"a.b"}),
        ("a{,2}", {"a{,2}"}),
        (r"\Aa\z", {"a"}),
        ("(?<name>a)|(?P<other>b)", {"a", "b"}),
        (r"\x61|\x{62}", {"a", "b"}),
        ("(a|b){1,2}?", {"a", "b", "ab"}),
    ],
)
def test_whole_names_match(regex, topics):
    assert matching_texts(regex, TOPICS) == topics


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        ("(", "missing closing )"),
        ("a)", "regexp/syntax: internal error"),
        ("a**", "invalid nested repetition operator"),
        ("a++", "invalid nested repetition operator"),
        ("x{2}{3}", "invalid nested repetition operator"),
        ("*a", "missing argument to repetition operator"),
        ("[a", "missing closing ]"),
        ("\\", "trailing backslash at end of expression"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?z)", "invalid or unsupported Perl syntax"),
        ("a{2,1}", "invalid repeat count"),
        ("a{1001}", "invalid repeat count"),
        ("[b-a]", "invalid character class range"),
        ("[[:foo:]]", "invalid character class range"),
        (r"\1", "invalid escape sequence"),
        (r"\y", "invalid escape sequence"),
        (r"[a-\d]", "invalid escape sequence"),
        ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
    ],
)
def test_what_re2_does_not_have_is_refused(regex, text):
    with pytest.raises(InvalidRegex) as refused:
        check_regex(regex)
    assert str(refused.value) == text
