"""docs/reference/faults.md, written from the code: `python -m broker_sim.faults.reference_page` prints it."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from broker_sim.faults.actions import ACTIONS, NEED_DISK
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule_schema import RULE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["reference_page"]

INTRODUCTION: Final = """\
# Fault rules

`make docs` writes this page from the code. [How to inject a fault](../how-to/inject-a-fault.md) explains how to write a
rule. The same keys hold in Python (`add_rule`) and in the `rules` of a scenario, where the name of a rule is its key.
"""
NAME: Final = {"description": "the name of the rule in reports and in other rules; in a scenario it is the key"}
PHASES: Final[Mapping[Phase, str]] = {
    Phase.BEFORE_PARSE: "The header is known, the body is still bytes. The default of rules that need no body.",
    Phase.BEFORE_APPEND: "The handler is about to serve; once per partition. The default of rules on bodies.",
    Phase.AFTER_APPEND: "The leader has appended to the partition; followers have not confirmed. Produce alone.",
    Phase.AFTER_REPLICATION: "The replicas that `acks` requires have the records; no response is sent. Produce alone.",
    Phase.BEFORE_RESPONSE: "The response is complete, none of its bytes is sent.",
    Phase.MID_RESPONSE: "The response is being written. For `cut_bytes` alone.",
}


def reference_page() -> str:
    """Return the page in Markdown."""
    return (
        "\n".join([INTRODUCTION, *_keys(), *_actions(), *_phases(), *_table("select"), *_table("when", "until")]) + "\n"
    )


def _keys() -> Iterator[str]:
    yield "## Keys of a rule\n"
    yield from _rows({"name": NAME, **RULE_SCHEMA["properties"]})


def _actions() -> Iterator[str]:
    values = _action_values()
    broker = values["kill"]["description"]
    yield "\n## Actions (`act`)\n"
    yield f"A broker is {broker}.\n"
    yield "| action | value | effect |\n|---|---|---|"
    keys: dict[str, Any] = {}
    for name, action in ACTIONS.items():
        value = values[name].get("description", "none")
        effect = " ".join((inspect.getdoc(action) or "").partition("\n\n")[0].split())
        needs = " Needs a data directory." if name in NEED_DISK else ""
        yield f"| `{name}` | {'a broker' if value == broker else value} | {effect}{needs} |"
        keys.update(_properties(values[name]))
    yield "\nThe keys of the mappings:\n"
    yield from _rows(keys | {"broker": {"description": "a broker, in any of its forms"}})


def _action_values() -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    for choice in RULE_SCHEMA["properties"]["act"]["oneOf"]:
        values.update(choice.get("properties", {}))
    return values


def _properties(value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = dict(value.get("properties", {}))
    for choice in value.get("oneOf", ()):
        found.update(choice.get("properties", {}))
    return found


def _phases() -> Iterator[str]:
    yield "\n## Phases (`phase`)\n"
    yield "In the order in which a request passes them. Followers and other nodes have no response bytes to cut.\n"
    yield "| phase | state of the request |\n|---|---|"
    for phase in Phase:
        yield f"| `{phase.value}` | {PHASES[phase]} |"


def _table(*keys: str) -> Iterator[str]:
    names = " and ".join(f"`{key}`" for key in keys)
    yield f"\n## Keys of {names}\n"
    if "when" in keys:
        yield "All conditions must hold. A number may be a range `[low, high]`: the seed draws one number from it.\n"
    yield from _rows(RULE_SCHEMA["properties"][keys[0]]["properties"])


def _rows(properties: Mapping[str, Any]) -> Iterator[str]:
    yield "| key | meaning |\n|---|---|"
    for name, value in properties.items():
        yield f"| `{name}` | {value['description']} |"


if __name__ == "__main__":
    sys.stdout.write(reference_page())
