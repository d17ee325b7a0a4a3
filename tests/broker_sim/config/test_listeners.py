"""Listener configurations and the results of real KafkaConfig of two releases, with its texts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.listeners import ListenerConfig, listener_config
from broker_sim.errors import ConfigError

ROWS = [json.loads(line) for line in Path(__file__).with_name("listener_configs.jsonl").read_text().splitlines()]
CASES = [(release, row) for row in ROWS for release in ("3.7.2", "4.3.1") if release in row]


def parsed(file: dict[str, str], release: str) -> ListenerConfig:
    config = BrokerConfig.parse(file, release=release)
    if "zookeeper.connect" in file:
        config = replace(config, behaviour=replace(config.behaviour, zookeeper=True))
    return listener_config(config)


@pytest.mark.parametrize(("release", "row"), CASES, ids=[f"{release}-{row['name']}" for release, row in CASES])
def test_a_file_is_taken_or_refused_as_by_the_real_release(release: str, row: dict[str, Any]) -> None:
    real = row[release]
    if "refused" in real:
        with pytest.raises(ConfigError) as refused:
            parsed(row["config"], release)
        assert str(refused.value) == real["refused"]
        return
    found = parsed(row["config"], release)
    bound = [each for each in found.bound if each.listener != found.control_plane]
    assert [[each.listener, each.host or "null", each.port] for each in bound] == real["bound"]
    assert [[each.listener, each.host or "null", each.port] for each in found.advertised] == real["advertised"]


@pytest.mark.parametrize("inter_broker", ["inter.broker.listener.name", "security.inter.broker.protocol"])
def test_the_mechanism_of_brokers_must_be_enabled(inter_broker: str) -> None:
    config = {"listeners": "SASL_PLAINTEXT://a:1", inter_broker: "SASL_PLAINTEXT", "sasl.enabled.mechanisms": "PLAIN"}
    assert (
        listener_config(BrokerConfig.parse({**config, "sasl.mechanism.inter.broker.protocol": "PLAIN"})).inter_broker
        == "SASL_PLAINTEXT"
    )
    refused = (
        "requirement failed: sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when "
        "SASL is used for inter-broker communication"
    )
    with pytest.raises(ConfigError, match=refused):
        listener_config(BrokerConfig.parse(config))
