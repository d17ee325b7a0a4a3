"""The listener of a real cluster that the clients of a scenario use: PLAINTEXT, or SASL_PLAINTEXT beside it.

The proxy is before one listener of each broker. A Kafka that the run starts has the SASL listener of the file, on a
port of the run; the run itself uses PLAINTEXT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.language.scenario import Scenario

__all__ = ["LISTENERS", "SASL", "has_sasl_listener", "listener_problem"]

LISTENERS: Final = "listeners"
SASL: Final = "SASL_PLAINTEXT"
_PLAINTEXT: Final = "PLAINTEXT"


def has_sasl_listener(config: Mapping[str, str]) -> bool:
    """Return True if brokers with these configurations have the listeners PLAINTEXT and SASL_PLAINTEXT."""
    names = [each.partition("://")[0].strip().upper() for each in config.get(LISTENERS, "").split(",")]
    return sorted(names) == [_PLAINTEXT, SASL]


def listener_problem(scenario: Scenario, *, started: bool) -> str | None:
    """Return why the clients of a scenario, or of its flip, cannot use one listener of a real cluster.

    `started`: the cluster was started for the run.
    """
    for side in scenario.sides():
        config = side.broker_config
        if all(name.rpartition(":")[2] != LISTENERS for name in config):
            continue
        if not started:
            return "cluster.config.listeners: a cluster that runs already keeps its listeners"
        if not has_sasl_listener(config):
            return f"cluster.config.listeners: a started cluster has {_PLAINTEXT} and {SASL} at most"
        for client in side.clients:
            for given in (client.producer, client.consumer):
                if given is not None and str(given.get("security.protocol", _PLAINTEXT)).upper() != SASL:
                    return f"clients.{client.name}: the proxy is before {SASL} alone, and this client needs another"
    return None
