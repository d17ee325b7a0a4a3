"""Cross-field validation of configurations, as the real releases accept or refuse them."""

from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.connection_overrides import connection_overrides
from tests.broker_sim.config.start_config_cases import RELEASES, TOGETHER, Settings, known, ours, read_recorded

CASES = [
    (release, settings, real)
    for release in RELEASES
    for settings, real in zip(TOGETHER, read_recorded()[release], strict=True)
    if known(settings, release)
]


def shown(requested: object) -> str:
    return ",".join(f"{name}={value}" for name, value in requested.items()) if isinstance(requested, dict) else ""


@pytest.mark.parametrize(
    ("release", "settings", "real"), CASES, ids=lambda each: each if each in RELEASES else shown(each)
)
def test_settings_are_taken_or_refused_as_by_the_real_release(release: str, settings: Settings, real: str) -> None:
    refusal = ours(settings, release)
    reason = refusal.partition(" (given: ")[0]
    expected = real.removeprefix("requirement failed: ").replace("equals to", "equal to")
    assert reason.endswith(expected)
    assert bool(refusal) == bool(real)


def test_a_refusal_names_the_given_value() -> None:
    assert ours({"log.retention.hours": "0", "num.io.threads": "3"}, "4.3.1") == (
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1 (given: log.retention.hours=0)"
    )
    assert (
        ours({"log.cleaner.threads": "0"}, "4.3.1") == "log.cleaner.threads: / by zero (given: log.cleaner.threads=0)"
    )


def test_addresses_have_limits_of_their_own() -> None:
    config = BrokerConfig.parse({"max.connections.per.ip.overrides": "10.0.0.1:0, ::1:3"})
    assert connection_overrides(config) == {"10.0.0.1": 0, "::1": 3}
