"""Plants a documented defect in a scenario: in all of its brokers, or in each of its clients that can have it.

A search with a planted defect shows that the scenario finds it. Files that are about a defect name it themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_client.core.consumer.consumer_parts import CONSUMER_PARTS
from broker_client.core.producer.producer_parts import PRODUCER_PARTS
from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.client_defects import defects_of
from broker_sim.errors import nearest
from broker_sim.yaml_source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.core.client_parts import NetworkParts

__all__ = ["parts_of_group", "planted", "unplanted"]


def planted(source: Source, name: str) -> Source:
    """Return the scenario with a defect more. The values of the file must have passed the schema.

    Raises:
        ScenarioError: no defect has the name, or it is one of clients and no client of the file can have it.
    """
    from broker_client.defects import DEFECTS as CLIENT_DEFECTS
    from broker_sim.defects import DEFECTS as BROKER_DEFECTS

    value = source.value
    if name in BROKER_DEFECTS:
        return Source(source.file, {**value, "cluster": _with_defect(value["cluster"], name)}, source.marks)
    if name not in CLIENT_DEFECTS:
        known = [*BROKER_DEFECTS, *CLIENT_DEFECTS]
        hint = nearest(name, known) or "; docs/reference/defects.md and client-defects.md list them"
        raise ScenarioError(f"there is no defect {name!r} of brokers or clients (--defect){hint}")
    clients = {
        group: _with_defect(spec, name) if _can_have(spec, name) else spec
        for group, spec in value.get("clients", {}).items()
    }
    if clients == value.get("clients", {}) and not any(name in spec.get("defects", ()) for spec in clients.values()):
        parts = ", ".join(CLIENT_DEFECTS[name].parts)
        raise ScenarioError(
            f"{source.file}: none of `clients` can have the defect {name!r} (--defect): it needs a producer or a"
            f" consumer of this project with {parts}"
        )
    return Source(source.file, {**value, "clients": clients}, source.marks)


def unplanted(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values of a file without a defect of its brokers and clients."""
    clean = {**document, "cluster": _without_defect(document["cluster"], name)}
    if "clients" in document:
        clean["clients"] = {group: _without_defect(spec, name) for group, spec in document["clients"].items()}
    return clean


def parts_of_group(spec: Mapping[str, Any]) -> list[NetworkParts]:
    """Return the replaceable parts of a client of a file: of its producer, its consumer or both."""
    return [PRODUCER_PARTS] * ("producer" in spec) + [CONSUMER_PARTS] * ("consumer" in spec)


def _can_have(spec: Mapping[str, Any], name: str) -> bool:
    return "driver" not in spec and any(defects_of([name], half) for half in parts_of_group(spec))


def _with_defect(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = spec.get("defects", [])
    return {**spec, "defects": given if name in given else [*given, name]}


def _without_defect(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    others = [each for each in spec.get("defects", ()) if each != name]
    clean = {key: value for key, value in spec.items() if key != "defects"}
    return {**clean, "defects": others} if others else clean
