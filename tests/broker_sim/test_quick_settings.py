from __future__ import annotations

import pytest

from broker_sim.errors import ConfigError
from broker_sim.quick_settings import quick_settings, with_quick_settings


def test_a_release_gets_the_configurations_that_it_has() -> None:
    newest = quick_settings("4.3.1", failover=True, groups=True)
    assert newest["broker.session.timeout.ms"] == "1000"
    assert "group.share.heartbeat.interval.ms" in newest
    old = quick_settings("2.8.2", failover=True, groups=False)
    assert "group.initial.rebalance.delay.ms" not in old
    assert quick_settings("4.3.1", failover=False, groups=False) == {}
    with pytest.raises(ConfigError, match=r"9\.9"):
        quick_settings("9.9", failover=True, groups=True)


def test_a_configuration_overrides_the_quick_settings() -> None:
    given = {"broker.session.timeout.ms": 5000}
    quick = with_quick_settings(given, "4.3.1", failover=True, groups=False)
    assert quick == {**quick_settings("4.3.1", failover=True, groups=False), **given}
    assert with_quick_settings(given, "4.3.1", failover=False, groups=False) is given
    assert with_quick_settings(None, "4.3.1", failover=False, groups=True) == quick_settings(
        "4.3.1", failover=False, groups=True
    )
