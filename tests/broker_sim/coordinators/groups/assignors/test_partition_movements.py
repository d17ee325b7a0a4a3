"""Movements of partitions within one run."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.assignors.assignor import AssignorError
from broker_sim.coordinators.groups.assignors.partition_movements import PartitionMovements
from tests.broker_sim.coordinators.groups.assignors.specs import topic_id

FIRST, SECOND, OTHER = (topic_id(1), 0), (topic_id(1), 1), (topic_id(2), 0)


def test_a_partition_moves_back_in_place_of_another_of_its_topic():
    movements = PartitionMovements()
    movements.move(FIRST, "a", "b")
    assert movements.partition_to_move(SECOND, "b", "a") == FIRST
    assert movements.partition_to_move(SECOND, "a", "b") == SECOND
    assert movements.partition_to_move(OTHER, "b", "a") == OTHER


def test_a_partition_that_moves_again_is_an_error_as_in_kafka():
    movements = PartitionMovements()
    movements.move(FIRST, "a", "b")
    with pytest.raises(AssignorError, match="Mismatch in partition movement record"):
        movements.move(FIRST, "b", "c")


def test_another_owner_than_the_recorded_one_is_none():
    movements = PartitionMovements()
    movements.move(FIRST, "a", "b")
    movements.move(FIRST, "c", "a")
    assert movements.partition_to_move(SECOND, "b", "a") == SECOND
    movements.move(SECOND, "a", "b")
    movements.move(SECOND, "c", "d")
    assert movements.partition_to_move(FIRST, "d", "a") == SECOND
