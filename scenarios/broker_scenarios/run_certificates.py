"""The certificates of one run take the places of their references in its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from broker_scenarios.language.certificates import REFERENCE, certificates_of

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario
    from sim_runtime.issued_certificates import IssuedCertificate

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
        broker_config=_filled(scenario.broker_config, made),
        clients=_filled(scenario.clients, made),
        rules=_filled(scenario.rules, made),
    )


def _filled(value: Any, made: Mapping[str, IssuedCertificate]) -> Any:
    """Return the value with the PEM of each certificate that a text in it refers to; itself if there is none."""
    if isinstance(value, str):
        return REFERENCE.sub(lambda found: str(getattr(made[found["name"]], found["part"])), value)
    if isinstance(value, Mapping):
        return {key: _filled(each, made) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(each, made) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        old = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        new = {name: _filled(each, made) for name, each in old.items()}
        return value if new == old else replace(value, **new)
    return value
