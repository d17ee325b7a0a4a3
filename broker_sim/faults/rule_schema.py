"""The JSON schema of a rule as `grammar` reads it, for editors and for docs/reference/faults.md.

It describes every key and value; `grammar` alone checks a rule.
"""

from __future__ import annotations

from typing import Any, Final

from broker_sim.faults.actions import ACTIONS
from broker_sim.faults.forms import Nothing
from broker_sim.faults.grammar import GATE, KEYS, SELECT

__all__ = ["RULE_SCHEMA"]


def _act() -> dict[str, Any]:
    bare = [name for name, action in ACTIONS.items() if isinstance(action.form, Nothing)]
    return {
        "description": "the action of the rule, by its name alone or as a mapping of its name to its value",
        "examples": [{"kill": "leader of orders-0"}],
        "oneOf": [
            {"enum": bare},
            *(
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [name],
                    "properties": {name: action.form.schema},
                }
                for name, action in ACTIONS.items()
            ),
        ],
    }


RULE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "act": _act(),
        "phase": KEYS["phase"].schema,
        "select": SELECT.schema | {"description": "the requests that the rule fires on; all conditions must fit"},
        "when": GATE.schema
        | {"minProperties": 1, "description": "the conditions that open the rule; without them it opens at once"},
        "until": GATE.schema
        | {
            "minProperties": 1,
            "description": "the conditions that close the rule and release the requests that it holds",
        },
        "times": KEYS["times"].schema,
        "every_ms": KEYS["every_ms"].schema,
        "optional": KEYS["optional"].schema,
    },
}
