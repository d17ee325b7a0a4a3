"""Identities that do not depend on addresses."""

from __future__ import annotations

from sim_runtime.numbered_ids import NumberedIds


class Thing:
    pass


def test_numbers_are_given_in_order_and_kept() -> None:
    numbered, first, second = NumberedIds(), Thing(), Thing()
    assert [numbered(second), numbered(first), numbered(second)] == [1, 2, 1]


def test_objects_that_are_equal_have_numbers_of_their_own() -> None:
    numbered, one, other = NumberedIds(), [1], [1]
    assert numbered(one) != numbered(other)


def test_an_address_that_is_used_again_gets_a_new_number() -> None:
    numbered = NumberedIds()
    # Each dies at once, and the next one has its address.
    assert [numbered(Thing()) for _ in range(100)] == list(range(1, 101))


def test_what_cannot_be_referenced_weakly_has_a_number_too() -> None:
    numbered, one = NumberedIds(), (1, 2)
    assert [numbered(one), numbered(one)] == [1, 1]
