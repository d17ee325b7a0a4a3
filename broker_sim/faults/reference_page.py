"""docs/reference/faults.md, written from the code: `python -m broker_sim.faults.reference_page` prints it."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from broker_sim.control.journal import EVENT_KINDS
from broker_sim.faults import actions
from broker_sim.faults.action import Need
from broker_sim.faults.actions import ACTIONS
from broker_sim.faults.forms import BROKER, Broker, Fields, Nothing
from broker_sim.faults.gates import field_names
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule_schema import RULE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    selections = [*_table("select"), *_table("when", "until")]
    return "\n".join([INTRODUCTION, *_keys(), *_actions(), *_phases(), *selections, *_events()]) + "\n"


def _keys() -> Iterator[str]:
    yield "## Keys of a rule\n"
    yield from _rows({"name": NAME, **RULE_SCHEMA["properties"]})


def _actions() -> Iterator[str]:
    yield "\n## Actions (`act`)\n"
    yield f"A broker is {BROKER.description}. A number may be a range `[low, high]` or `{{uniform: [low, high]}}`, or"
    yield "`{one_of: [1, 5, 20]}`: the seed draws one each time that the rule fires."
    for group, names in ACTIONS.groups.items():
        title = inspect.getdoc(import_module(f"{actions.__name__}.{group}")) or group
        yield f"\n### {title.rstrip('.')}\n"
        yield "| action | effect | needs | example |\n|---|---|---|---|"
        for name in names:
            action = ACTIONS[name]
            effect = " ".join((inspect.getdoc(action) or "").partition("\n\n")[0].split())
            needs = ", ".join(f"`{need.value}`" for need in action.needs if need is not Need.CLUSTER)
            yield f"| `{name}` | {effect} | {needs or 'nothing'} | `{_example(name)}` |"
        yield from _values(names)
    yield "\n### Changes of `edit`\n"
    yield "A change has one of `set`, `delete`, `duplicate`, `append`, `reverse`, `lengthen` and `shorten`, with the"
    yield "path of a field as `broker-sim protocol show API` names it.\n"
    yield from _rows(ACTIONS["edit"].form.schema["oneOf"][0]["properties"])
    yield "\n### Needs\n"
    yield "A target that lacks the part which an action needs refuses the rule before the run.\n"
    yield "| need | part |\n|---|---|"
    for need in Need:
        yield f"| `{need.value}` | {need.description} |"


def _example(name: str) -> str:
    form = ACTIONS[name].form
    return f"act: {name}" if isinstance(form, Nothing) else f"act: {{{name}: {_flow(form.schema['examples'][0])}}}"


def _flow(value: object) -> str:
    """Return a value as flow-style YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(names: Sequence[str]) -> Iterator[str]:
    rows = []
    for name in names:
        form = ACTIONS[name].form
        forms = form.forms.items() if isinstance(form, Fields) else [("", form)]
        for key, each in forms:
            if not isinstance(each, Broker | Nothing):
                rows.append(f"| `{name}` | {f'`{key}`' if key else 'the value'} | {each.schema['description']} |")
    if rows:
        yield "\n| action | key | meaning |\n|---|---|---|"
        yield from rows


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
    yield "| key | meaning | example |\n|---|---|---|"
    for name, value in RULE_SCHEMA["properties"][keys[0]]["properties"].items():
        yield f"| `{name}` | {value['description']} | `{name}: {_flow(value['examples'][0])}` |"


def _events() -> Iterator[str]:
    yield "\n## Events\n"
    yield "The kinds for `event` in `when`, `until` and the step `wait`, with the fields that a value may be given for."
    yield "The field `broker_id`, the broker of the event, is in each.\n"
    yield "| kind | event | fields |\n|---|---|---|"
    for name, kind in EVENT_KINDS.items():
        names = ", ".join(f"`{field}`" for field in field_names(kind) if field != "broker_id")
        event = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
        yield f"| `{name}` | {event} | {names} |"


def _rows(properties: Mapping[str, Any]) -> Iterator[str]:
    yield "| key | meaning |\n|---|---|"
    for name, value in properties.items():
        yield f"| `{name}` | {value['description']} |"


if __name__ == "__main__":
    sys.stdout.write(reference_page())
