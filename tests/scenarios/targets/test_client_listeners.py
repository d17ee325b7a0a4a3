"""The listener of a real cluster that the clients of a scenario use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.targets.client_listeners import has_sasl_listener, listener_problem
from broker_scenarios.targets.started_kafka import KafkaRelease, StartedKafka

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"
BOTH = "PLAINTEXT://:0,SASL_PLAINTEXT://:0"


@pytest.fixture(scope="module")
def reauth() -> Scenario:
    return replace(load_scenario(CATALOG / "reauth.yaml"), flip=None)


def test_clients_with_sasl_use_a_started_cluster(reauth: Scenario) -> None:
    assert listener_problem(reauth, started=True) is None
    plain = load_scenario(CATALOG / "acl-revoked.yaml")
    assert listener_problem(plain, started=True) is listener_problem(plain, started=False) is None


@pytest.mark.parametrize(
    ("config", "has"),
    [
        ({"listeners": BOTH}, True),
        ({"listeners": "SASL_PLAINTEXT://:0, PLAINTEXT://:0"}, True),
        ({"listeners": "PLAINTEXT://:0"}, False),
        ({"listeners": f"{BOTH},SSL://:0"}, False),
        ({}, False),
    ],
)
def test_the_sasl_listener_is_beside_plaintext(config: dict[str, str], *, has: bool) -> None:
    assert has_sasl_listener(config) is has


@pytest.mark.parametrize(
    ("changes", "started", "problem"),
    [
        ({}, False, "cluster.config.listeners: a cluster that runs already keeps its listeners"),
        ({"broker_config": {"listeners": "PLAINTEXT://:0,SSL://:0"}}, True, "has PLAINTEXT and SASL_PLAINTEXT at most"),
        ({"broker_config": {"1:listeners": BOTH}}, True, "has PLAINTEXT and SASL_PLAINTEXT at most"),
    ],
)
def test_other_listeners_are_refused(reauth: Scenario, changes: dict[str, Any], started: bool, problem: str) -> None:
    found = listener_problem(replace(reauth, **changes), started=started)
    assert found is not None
    assert problem in found


def test_clients_of_two_listeners_are_refused(reauth: Scenario) -> None:
    other = replace(reauth.clients[0], producer={})
    found = listener_problem(replace(reauth, clients=(other, *reauth.clients[1:])), started=True)
    assert found == "clients.app: the proxy is before SASL_PLAINTEXT alone, and this client needs another"


def test_a_started_broker_has_the_listener_on_a_port_of_the_run(tmp_path: Path) -> None:
    made = StartedKafka(
        KafkaRelease(tmp_path),
        tmp_path,
        brokers=1,
        controllers=1,
        config={"listeners": BOTH, "sasl.enabled.mechanisms": "PLAIN"},
        features={},
    )
    settings = made._settings(1)
    names = [each.partition("://")[0] for each in settings["listeners"].split(",")]
    assert names == ["PLAINTEXT", "SASL_PLAINTEXT", "CONTROLLER"]
    assert settings["listeners"].startswith(settings["advertised.listeners"])
    assert settings["listener.security.protocol.map"].endswith("SASL_PLAINTEXT:SASL_PLAINTEXT")
    assert f"SASL_PLAINTEXT://127.0.0.1:{made._client_ports[1]}" in settings["advertised.listeners"]
    assert settings["sasl.enabled.mechanisms"] == "PLAIN"
