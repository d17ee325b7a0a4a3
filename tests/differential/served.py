"""The part of a transcript that is about APIs that the simulator serves: recordings hold all of a real broker's.

So that a recording stays right when the simulator learns an API, nothing is left out before it is compared.
"""

from __future__ import annotations

from typing import Any

from broker_sim.apis.controller.controller_apis import HANDLERS as CONTROLLER_HANDLERS
from broker_sim.apis.kafka_apis import HANDLERS
from protocol_specs.registry import request_type

_KEYS = {*HANDLERS.served, *CONTROLLER_HANDLERS.served}
_NAMES = {request_type(key).NAME for key in _KEYS}


def cut_to_served(transcript: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The transcript without the requests of other APIs, and without what ApiVersions lists of them."""
    return [_cut(entry) for entry in transcript if entry.get("api", "Metadata") in _NAMES]


def _cut(value: Any, key: str = "") -> Any:
    if key == "apiKeys" and isinstance(value, list):
        return [each for each in value if (each["apiKey"] if isinstance(each, dict) else each) in _KEYS]
    if isinstance(value, dict):
        return {name: _cut(item, name) for name, item in value.items()}
    return value
