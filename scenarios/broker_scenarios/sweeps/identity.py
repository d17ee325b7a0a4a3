"""The identity of a sweep: results of the same seeds are equal if the scenario and the code are."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from broker_sim import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

    from broker_scenarios.language.scenario import Scenario

__all__ = ["code_version", "scenario_fingerprint"]

_PACKAGES: Final = ("sim_runtime", "protocol_specs", "broker_sim", "broker_client", "broker_scenarios")
_DIGITS: Final = 16


def scenario_fingerprint(scenario: Scenario) -> str:
    """Return a digest of the values of the file, with its base and its draws, and of the number of records."""
    document = scenario.document if scenario.draws is None else scenario.draws.source.value
    text = json.dumps([document, scenario.records_given], default=str)
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def code_version() -> str:
    """Return the version with a digest of the sources: in a checkout the code changes, and the version does not."""
    digest = sha256()
    for package in _PACKAGES:
        for name, source in _sources(files(package), package):
            digest.update(f"{name}\n".encode())
            digest.update(source)
    return f"{__version__}+{digest.hexdigest()[:_DIGITS]}"


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{path}/{each.name}"
        if each.is_dir():
            yield from _sources(each, name)
        elif each.name.endswith(".py"):
            yield name, each.read_bytes()
