"""Two controls of a scenario that misses an expectation of at least so many: without its load, without its faults.

Where nothing is sent, nothing is acknowledged, fails or fires: such a scenario misses the expectation for no reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["faultless", "idle"]


def idle(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file without its load and the steps of its scripts; the rules stay."""
    alone = {key: value for key, value in document.items() if key != "load"}
    if "clients" in document:
        alone["clients"] = {
            name: {**_without(spec, ("load",)), "script": ["close"]} for name, spec in document["clients"].items()
        }
    return alone


def faultless(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file without its rules and without the defects of its brokers and clients."""
    healthy = {**_without(document, ("rules",)), "cluster": _without(document["cluster"], ("defects",))}
    if "clients" in document:
        healthy["clients"] = {name: _without(spec, ("defects",)) for name, spec in document["clients"].items()}
    return healthy


def _without(values: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}
