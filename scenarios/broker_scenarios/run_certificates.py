"""The certificates of one run take the places of their references in its scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_scenarios.language.certificates import certificates_of, filled_in

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario

__all__ = ["with_certificates"]


def with_certificates(scenario: Scenario, started_s: float) -> Scenario:
    """Return the scenario of a run that starts at `started_s`, in seconds since the epoch, with its certificates.

    Its texts, which reports show, keep the references.
    """
    made = certificates_of(scenario.document, int(started_s))
    if not made:
        return scenario
    return replace(
        scenario,
        broker_config=filled_in(scenario.broker_config, made),
        clients=filled_in(scenario.clients, made),
        rules=filled_in(scenario.rules, made),
    )
