from __future__ import annotations

import pytest

from broker_sim.metadata.topic_names import colliding_name, refused_name


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_legal_names_are_not_refused(name: str) -> None:
    assert refused_name(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("a b", "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("é", "'é' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
    ],
)
def test_illegal_names_are_refused_in_kafkas_words(name: str, reason: str) -> None:
    assert refused_name(name) == f"Topic name is invalid: {reason}"


def test_dots_and_underscores_collide_and_nothing_else_does() -> None:
    existing = ["a.b_c", "plain"]
    assert colliding_name("a_b.c", existing) == "a.b_c"
    assert colliding_name("a_b", existing) is None
    assert colliding_name("plain", existing) is None
