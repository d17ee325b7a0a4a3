"""The order of the partitions of a member whose partitions have epochs."""

from __future__ import annotations

from broker_sim.coordinators.groups.consumer.partition_order import (
    changed_order,
    equal_epochs,
    loaded_order,
    recorded_order,
)

T = b"t" * 16
HELD = {T: frozenset({1, 4, 5})}
EPOCHS = {(T, 4): 1, (T, 5): 1, (T, 1): 2, (T, 9): 2}


def test_a_record_has_the_order_of_the_epochs():
    assert recorded_order(HELD, EPOCHS) == {T: [4, 5, 1]}
    assert recorded_order(HELD, {}) == {T: [1, 4, 5]}


def test_a_loaded_member_has_the_order_of_a_larger_table():
    assert loaded_order(HELD, EPOCHS) == {T: [1, 4, 5]}
    assert loaded_order({T: frozenset({1, 17})}, {(T, 17): 1, (T, 1): 1}) == {T: [17, 1]}
    assert loaded_order(HELD, {}) == {T: [1, 4, 5]}


def test_a_step_keeps_before_it_adds():
    assert changed_order({T: [4, 5]}, HELD, {T: frozenset({0, 1, 4, 5})}) == {T: [4, 5, 1]}
    assert changed_order({}, HELD, HELD) == {T: [1, 4, 5]}


def test_equal_epochs_are_in_the_order_of_a_set():
    assert list(equal_epochs({T: frozenset({1, 16})}, 3).items()) == [((T, 16), 3), ((T, 1), 3)]
