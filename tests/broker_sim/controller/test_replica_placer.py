from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.controller.replica_placer import PlacementError, place
from broker_sim.metadata.metadata_image import BrokerRegistration


def brokers(count: int, *, fenced: tuple[int, ...] = (), racks: int = 0) -> list[BrokerRegistration]:
    return [
        BrokerRegistration(
            id=broker_id,
            host="h",
            port=1,
            rack=f"rack-{broker_id % racks}" if racks else None,
            fenced=broker_id in fenced,
            epoch=1,
        )
        for broker_id in range(1, count + 1)
    ]


def placed(
    partitions: int, factor: int, registered: list[BrokerRegistration], *, seed: int = 7, release: str = "4.3.1"
) -> list[tuple[int, ...]]:
    return place(
        partitions=partitions,
        replication_factor=factor,
        brokers=registered,
        random=Random(seed),
        behaviour=behaviour_of(release),
    )


@pytest.mark.parametrize("seed", range(5))
def test_leaders_and_replicas_are_spread_evenly(seed: int) -> None:
    assignment = placed(9, 3, brokers(3), seed=seed)
    assert Counter(replicas[0] for replicas in assignment) == {1: 3, 2: 3, 3: 3}
    assert all(sorted(replicas) == [1, 2, 3] for replicas in assignment)


@pytest.mark.parametrize("seed", range(5))
def test_replicas_of_a_partition_are_on_different_racks(seed: int) -> None:
    assignment = placed(12, 3, brokers(6, racks=3), seed=seed)
    assert all(len({broker_id % 3 for broker_id in replicas}) == 3 for replicas in assignment)


@pytest.mark.parametrize("seed", range(5))
def test_fenced_brokers_hold_replicas_but_never_lead(seed: int) -> None:
    assignment = placed(6, 3, brokers(3, fenced=(2,)), seed=seed)
    assert all(replicas[0] != 2 and 2 in replicas for replicas in assignment)


def test_same_random_numbers_place_alike() -> None:
    assert placed(20, 2, brokers(5), seed=3) == placed(20, 2, brokers(5), seed=3)


def test_too_few_brokers_are_refused_in_the_words_of_the_release() -> None:
    text = "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered"
    with pytest.raises(PlacementError) as caught:
        placed(1, 3, brokers(2))
    assert str(caught.value) == f"{text} or some brokers have all their log directories cordoned."
    with pytest.raises(PlacementError) as caught:
        placed(1, 3, brokers(2), release="3.7.2")
    assert str(caught.value) == f"{text}."


def test_only_fenced_brokers_are_refused() -> None:
    with pytest.raises(PlacementError, match=r"All brokers are currently fenced\."):
        placed(1, 1, brokers(2, fenced=(1, 2)), release="3.7.2")
