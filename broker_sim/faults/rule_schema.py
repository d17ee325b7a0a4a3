"""The JSON schema of a rule as `grammar` reads it, for editors; `grammar` alone decides what a rule means."""

from __future__ import annotations

from typing import Any, Final

from broker_sim.faults.actions import ACTIONS
from broker_sim.faults.interception import Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

_WHOLE: Final = {"type": "integer", "minimum": 1}
_SHARE: Final = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
_NUMBERS: Final = {
    "oneOf": [{"type": "integer", "minimum": 0}, {"type": "array", "items": {"type": "integer"}, "minItems": 1}]
}
_BROKER: Final[dict[str, Any]] = {
    "oneOf": [
        {"type": "integer"},
        {"type": "string", "pattern": "^(self|active controller|leader of .+-[0-9]+|killed by .+)$"},
    ],
}


def _log_dir(**others: dict[str, Any]) -> dict[str, Any]:
    """A broker, or a mapping with the broker, one of its log directories and the action's other values."""
    properties = {"broker": _BROKER, "log_dir": {"type": "string", "minLength": 1}, **others}
    whole = {"type": "object", "additionalProperties": False, "required": ["broker"], "properties": properties}
    return {"oneOf": [*_BROKER["oneOf"], whole]}


def _or_range(number: dict[str, Any]) -> dict[str, Any]:
    """A number, or `[low, high]` to draw it from."""
    return {"oneOf": [number, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}]}


_GATE: Final = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "acked_share": _or_range(_SHARE) | {"description": "a part of the load's records acknowledged"},
        "acked_records": _or_range(_WHOLE),
        "appended_records": _or_range(_WHOLE),
        "appended_batches": _or_range(_WHOLE),
        "after": {"type": "string", "description": "the name of a rule that has fired"},
        "delay_ms": _or_range({"type": "number", "minimum": 0}),
    },
}
_ACTION_VALUES: Final[dict[str, dict[str, Any]]] = {
    "delay_ms": {"type": "number", "minimum": 0},
    "error": {"oneOf": [{"type": "integer"}, {"enum": [code.name for code in ErrorCode]}]},
    "cut_bytes": {"type": "integer", "minimum": 0},
    "mutate": {
        "type": "object",
        "additionalProperties": False,
        "required": ["path"],
        "properties": {
            "path": {
                "type": "string",
                "description": "a field, such as responses[0].partition_responses[0].base_offset",
            },
            "value": {"description": "the value of the field"},
            "lengthen": _WHOLE | {"description": "how many zero bytes to add to the content of the field"},
            "shorten": _WHOLE | {"description": "how many bytes to remove from the content of the field"},
            "duplicate": _WHOLE | {"description": "how often to repeat the field or element"},
            "delete": {"const": True, "description": "remove the field or element"},
            "reframe": {"type": "boolean", "description": "whether lengths and checksums around it are computed anew"},
        },
    },
    "kill": _BROKER,
    "stop": _BROKER,
    "restart": _BROKER,
    "lose_power": _BROKER,
    "fail_log_dir": _log_dir(),
    "fill_log_dir": _log_dir(left_bytes={"type": "integer", "minimum": 0}),
    "slow_log_dir": _log_dir(
        append_ms={"type": "number", "minimum": 0},
        sync_ms={"type": "number", "minimum": 0},
        bytes_per_second={"type": "number", "minimum": 1},
    ),
    "mend_log_dir": _log_dir(),
}

RULE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "act": {
            "description": "what the rule does",
            "oneOf": [
                {"enum": [name for name in ACTIONS if name not in _ACTION_VALUES]},
                *(
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "required": [name],
                        "properties": {name: _ACTION_VALUES.get(name, {"type": ["null", "boolean"]})},
                    }
                    for name in ACTIONS
                ),
            ],
        },
        "phase": {"enum": [phase.value for phase in Phase], "description": "where on a request's path it fires"},
        "select": {
            "type": "object",
            "additionalProperties": False,
            "description": "which requests it fires on",
            "properties": {
                "broker": _BROKER,
                "api": {"enum": [key.api_name for key in ApiKey]},
                "topic": {"type": "string"},
                "partition": _NUMBERS,
                "client": {"type": "string", "description": "a client id, or a pattern such as producer-*"},
                "replica": {"oneOf": [{"type": "integer", "minimum": 0}, {"const": "any"}]},
                "nth": _NUMBERS,
                "share": _SHARE,
            },
        },
        "when": _GATE | {"description": "what opens the rule; at once when not given"},
        "until": _GATE | {"description": "what closes the rule and lets go what it holds"},
        "times": _WHOLE | {"description": "how often it fires at most"},
        "optional": {"type": "boolean", "description": "whether the run may end without it"},
    },
}
