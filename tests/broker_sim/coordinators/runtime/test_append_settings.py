from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.coordinators.runtime.append_settings import AppendSettings, settings_of
from protocol_specs.records.compression import CompressionCodec

NAMES = {
    "linger": "group.coordinator.append.linger.ms",
    "write_timeout": "offsets.commit.timeout.ms",
    "codec": "offsets.topic.compression.codec",
}


def test_the_settings_follow_the_configuration_of_the_broker() -> None:
    host: Any = SimpleNamespace(config=BrokerConfig.parse({"offsets.commit.timeout.ms": "7"}))
    present = settings_of(host, **NAMES)
    assert present().write_timeout_ms == 7
    assert present() is present()
    host.config = BrokerConfig.parse(
        {"offsets.topic.compression.codec": "1", "group.coordinator.append.linger.ms": "3"}
    )
    assert present() == AppendSettings(3, 5000, CompressionCodec.GZIP)


def test_a_release_without_a_configuration_has_zero() -> None:
    host: Any = SimpleNamespace(config=BrokerConfig.parse({}, release="0.9.0.1"))
    assert settings_of(host, **NAMES)().linger_ms == 0
