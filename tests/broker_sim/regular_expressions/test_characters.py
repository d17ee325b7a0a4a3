"""Sets of characters: folds, complements, classes by name."""

from __future__ import annotations

import pytest

from broker_sim.regular_expressions.characters import (
    CharacterSet,
    perl_class,
    posix_class,
    unicode_class,
)


def test_a_folded_range_has_all_characters_that_differ_in_case_alone():
    found = CharacterSet()
    found.add_range("j", "l", fold=True)
    assert all(char in found for char in "jKlk\u212a")
    assert "m" not in found


def test_a_negated_part_counts_before_the_whole_set_is_negated():
    digits = perl_class("d")
    assert digits is not None
    found = CharacterSet(negated=True)
    found.add(digits, fold=False, negated=True)
    found.add_range("a", "a", fold=False)
    assert "1" in found
    assert "a" not in found
    assert "b" not in found


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("L", "a\xe9\u03bb", "1_"),
        ("Lu", "A\xc9", "a"),
        ("Latin", "a\xe9\u212a", "1\u03bb"),
        ("Greek", "\u03bb", "a"),
        ("Han", "\u6f22", "a"),
        ("Common", "1_", "a"),
        ("Any", "a\n", ""),
    ],
)
def test_unicode_classes(name, inside, outside):
    contains = unicode_class(name)
    assert contains is not None
    assert all(map(contains, inside))
    assert not any(map(contains, outside))


@pytest.mark.parametrize("name", ["", "greek", "Cn", "Foo", "Adlam"])
def test_names_that_no_class_has(name):
    assert unicode_class(name) is None
    assert posix_class(name) is None
    assert perl_class(name) is None
