from broker_sim.config.broker_config import BrokerConfig
from broker_sim.coordinators.groups.classic.group_limits import UNLIMITED, group_limit


def test_a_release_without_a_limit_has_none():
    assert group_limit(BrokerConfig.parse({}, release="2.0"), "group.max.size", UNLIMITED) == UNLIMITED
    assert group_limit(BrokerConfig.parse({"group.max.size": "3"}, release="4.3.1"), "group.max.size", UNLIMITED) == 3
