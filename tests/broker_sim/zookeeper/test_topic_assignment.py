from __future__ import annotations

from random import Random

import pytest

from broker_sim.controller.manual_assignment import Refused
from broker_sim.metadata.metadata_image import BrokerRegistration
from broker_sim.zookeeper.topic_assignment import assign_replicas


def brokers(count: int, racks: str = "") -> list[BrokerRegistration]:
    return [
        BrokerRegistration(
            id=number, host="h", port=1, rack=racks[number - 1] if racks else None, fenced=False, epoch=1
        )
        for number in range(1, count + 1)
    ]


def test_leaders_go_round_and_followers_at_a_distance_that_grows() -> None:
    placed = assign_replicas(brokers(5), 10, 3, random=Random(0), start=0)
    # The example in the documentation of AdminUtils, with brokers from 1 on.
    assert placed == [
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 5),
        (4, 5, 1),
        (5, 1, 2),
        (1, 3, 4),
        (2, 4, 5),
        (3, 5, 1),
        (4, 1, 2),
        (5, 2, 3),
    ]


@pytest.mark.parametrize("partitions", [1, 7, 24])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_replicas_lie_in_different_racks_while_there_are_any(partitions: int, factor: int) -> None:
    racks = "aabbcc"
    for replicas in assign_replicas(brokers(6, racks), partitions, factor, random=Random(3)):
        assert len(set(replicas)) == factor
        assert len({racks[each - 1] for each in replicas}) == factor


def test_with_more_replicas_than_racks_every_rack_has_one() -> None:
    racks = "aabb"
    for replicas in assign_replicas(brokers(4, racks), 8, 3, random=Random(1)):
        assert len(set(replicas)) == 3
        assert {racks[each - 1] for each in replicas} == {"a", "b"}


@pytest.mark.parametrize(
    ("partitions", "factor", "message"),
    [
        (0, 1, "Number of partitions must be larger than 0."),
        (1, 0, "Replication factor must be larger than 0."),
        (1, 4, "Replication factor: 4 larger than available brokers: 3."),
    ],
)
def test_what_cannot_be_is_refused_in_kafkas_words(partitions: int, factor: int, message: str) -> None:
    with pytest.raises(Refused) as refused:
        assign_replicas(brokers(3), partitions, factor, random=Random(0))
    assert refused.value.message == message


def test_one_broker_takes_everything() -> None:
    assert assign_replicas(brokers(1), 3, 1, random=Random(0)) == [(1,), (1,), (1,)]
