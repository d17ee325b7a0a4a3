import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.coordinators.groups.coordinator_choice import is_first_preview, uses_old_coordinator


@pytest.mark.parametrize(
    ("release", "config", "old"),
    [
        ("2.8", {}, True),
        ("3.7", {}, True),
        ("3.7", {"group.coordinator.new.enable": "true"}, False),
        ("3.7", {"group.coordinator.rebalance.protocols": "classic,consumer"}, False),
        ("4.0", {}, False),
        ("4.3.1", {"group.coordinator.rebalance.protocols": "classic"}, False),
    ],
)
def test_configurations_choose_the_coordinator_before_4_0(release, config, old):
    assert uses_old_coordinator(BrokerConfig.parse(config, release=release)) is old


@pytest.mark.parametrize(("release", "expected"), [("3.7", True), ("3.8", False), ("4.0", False)])
def test_the_new_coordinator_of_3_7_is_the_first_preview(release, expected):
    config = {"group.coordinator.new.enable": "true"} if release < "4" else {}
    assert is_first_preview(BrokerConfig.parse(config, release=release)) is expected
    assert not is_first_preview(BrokerConfig.parse({}, release=release))
