"""The configurations of the brokers of a cluster."""

from __future__ import annotations

from broker_sim.broker_configs import BrokerConfigs
from broker_sim.log.producer_state import ProducerStateManager
from broker_sim.part_types import AS_BUILT


def test_a_broker_has_its_own_configuration_and_its_own_defects() -> None:
    configs = BrokerConfigs(
        {"num.partitions": "2", "2:num.partitions": "3"},
        broker_ids=(1, 2, 3),
        release="4.3.1",
        defects=["3:dedup-returns-45"],
    )
    assert [configs.common.num_partitions, *(configs.of(each).num_partitions for each in (1, 2, 3))] == [2, 2, 3, 2]
    replaced = [configs.of(each).part_types.of(ProducerStateManager) is not ProducerStateManager for each in (1, 2, 3)]
    assert replaced == [False, False, True]
    assert configs.common.part_types.of(ProducerStateManager) is ProducerStateManager


def test_without_defects_all_brokers_are_as_built() -> None:
    configs = BrokerConfigs({}, broker_ids=(1, 2), release="4.3.1")
    assert configs.of(1) is configs.common
    assert configs.common.part_types is AS_BUILT
