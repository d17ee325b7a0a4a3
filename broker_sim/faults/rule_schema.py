"""The JSON schema of a rule as `grammar` reads it, for editors and for docs/reference/faults.md.

It describes every key and value; `grammar` alone checks a rule.
"""

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
    "description": "the id of a broker or controller, `leader of TOPIC-PARTITION`, `active controller`, "
    "`killed by RULE`, or `self`: the broker that serves the request",
    "oneOf": [
        {"type": "integer"},
        {"type": "string", "pattern": "^(self|active controller|leader of .+-[0-9]+|killed by .+)$"},
    ],
}


def _log_dir(**others: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a broker, or of a mapping with the broker, its directory and the action's other values."""
    log_dir = {"type": "string", "minLength": 1, "description": "the name of a log directory"}
    properties = {"broker": _BROKER, "log_dir": log_dir, **others}
    whole = {"type": "object", "additionalProperties": False, "required": ["broker"], "properties": properties}
    keys = ", ".join(f"`{name}`" for name in properties)
    return {"oneOf": [*_BROKER["oneOf"], whole], "description": f"a broker, or a mapping with {keys}"}


def _or_range(number: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a number, or of `[low, high]` to draw it from."""
    return {"oneOf": [number, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}]}


_GATE: Final = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "acked_share": _or_range(_SHARE)
        | {"description": "this share of the records of a scenario's load is acknowledged, above 0 and up to 1"},
        "acked_records": _or_range(_WHOLE) | {"description": "this many records are acknowledged"},
        "appended_records": _or_range(_WHOLE) | {"description": "leaders have appended this many records"},
        "appended_batches": _or_range(_WHOLE) | {"description": "leaders have appended this many batches"},
        "after": {"type": "string", "description": "the rule of this name has fired"},
        "delay_ms": _or_range({"type": "number", "minimum": 0})
        | {"description": "this many milliseconds pass after all other conditions hold"},
    },
}
_ACTION_VALUES: Final[dict[str, dict[str, Any]]] = {
    "delay_ms": {"type": "number", "minimum": 0, "description": "milliseconds"},
    "error": {
        "oneOf": [{"type": "integer"}, {"enum": [code.name for code in ErrorCode]}],
        "description": "a Kafka error code by name or number",
    },
    "cut_bytes": {"type": "integer", "minimum": 0, "description": "how many bytes of the frame are sent"},
    "mutate": {
        "type": "object",
        "additionalProperties": False,
        "required": ["path"],
        "description": "a mapping with `path` and one of `value`, `lengthen`, `shorten`, `duplicate`, `delete`",
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
            "reframe": {
                "type": "boolean",
                "description": "true (default) to compute the lengths and checksums around it anew",
            },
        },
    },
    "kill": _BROKER,
    "stop": _BROKER,
    "restart": _BROKER,
    "lose_power": _BROKER,
    "fail_log_dir": _log_dir(),
    "fill_log_dir": _log_dir(left_bytes={"type": "integer", "minimum": 0, "description": "the room that is left"}),
    "slow_log_dir": _log_dir(
        append_ms={"type": "number", "minimum": 0, "description": "the time of an append"},
        sync_ms={"type": "number", "minimum": 0, "description": "the time of a flush"},
        bytes_per_second={"type": "number", "minimum": 1, "description": "the rate of written bytes"},
    ),
    "mend_log_dir": _log_dir(),
}

RULE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "act": {
            "description": "the action of the rule, by its name alone or as a mapping of its name to its value",
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
        "phase": {
            "enum": [phase.value for phase in Phase],
            "description": "the phase in which the rule fires",
        },
        "select": {
            "type": "object",
            "additionalProperties": False,
            "description": "the requests that the rule fires on; all conditions must fit",
            "properties": {
                "broker": _BROKER | {"description": "the broker that serves the request, in any form of a broker"},
                "api": {"enum": [key.api_name for key in ApiKey], "description": "the name of the API"},
                "topic": {
                    "type": "string",
                    "description": "the topic, in the phases before_append, after_append and after_replication",
                },
                "partition": _NUMBERS | {"description": "a partition or a list of them, in the same phases"},
                "client": {"type": "string", "description": "a client id, or a pattern such as `producer-*`"},
                "group": {
                    "type": "string",
                    "description": "a group id that the request names, or a pattern; not in the phase before_parse",
                },
                "member": {
                    "type": "string",
                    "description": "a member id or an instance id of the request, or a pattern; not in before_parse",
                },
                "transaction": {
                    "type": "string",
                    "description": "a transactional id that the request names, or a pattern; not in before_parse",
                },
                "producer_id": _NUMBERS
                | {"description": "a producer id of the request, a marker or a batch, or a list; not in before_parse"},
                "producer_epoch": _NUMBERS
                | {"description": "the epoch of the same producer, or a list of epochs; not in before_parse"},
                "sequence": _NUMBERS
                | {"description": "the first sequence of a batch of that producer, or a list; Produce alone"},
                "replica": {
                    "oneOf": [{"type": "integer", "minimum": 0}, {"const": "any"}],
                    "description": "requests of the broker with this id, or of `any` broker: Fetch of a follower, "
                    "WriteTxnMarkers of a coordinator; without it, of clients",
                },
                "nth": _NUMBERS
                | {"description": "the number of the request among those that fit, from 1, or a list of numbers"},
                "share": _SHARE | {"description": "this share of the requests that fit, drawn by the seed"},
            },
        },
        "when": _GATE | {"description": "the conditions that open the rule; without them it opens at once"},
        "until": _GATE | {"description": "the conditions that close the rule and release the requests that it holds"},
        "times": _WHOLE | {"description": "how often the rule fires at most"},
        "optional": {"type": "boolean", "description": "true if the rule need not fire"},
    },
}
