"""Volatile values replaced by names: ids, ports and times of the moment, and the order of lists that have none."""

from __future__ import annotations

import json
from typing import Any

from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID, to_text

NOW_FROM_MS = 1_750_000_000_000
"""Timestamps from here on are taken for the clock's: cases use earlier ones."""

_NAMED = {"host": "<host>", "port": "<port>", "clusterId": "<cluster id>"}
_IDENTITIES = (
    "name",
    "topic",
    "topicId",
    "partitionIndex",
    "partition",
    "index",
    "nodeId",
    "brokerId",
    "key",
    "apiKey",
)
_TIMES = ("logAppendTimeMs", "timestamp")


class Normaliser:
    """Knows the topic ids of one case by name."""

    def __init__(self) -> None:
        self._topics: dict[str, str] = {to_text(ZERO_UUID): "<zero id>", to_text(METADATA_TOPIC_UUID): "<metadata id>"}

    def know_topic(self, name: str, topic_id: bytes) -> None:
        """From now on write `<id of NAME>` for this id."""
        self._topics[to_text(topic_id)] = f"<id of {name}>"

    def normalise(self, value: Any, key: str = "") -> Any:
        """The value with what changes from run to run replaced."""
        if isinstance(value, dict):
            return {name: self.normalise(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return _sorted([self.normalise(item, key) for item in value])
        if key in _NAMED and value:
            return _NAMED[key]
        if key == "topicId":
            return self._topics.get(value, value)
        if key == "producerId" and isinstance(value, int) and value >= 0:
            return "<producer id>"
        if key == "sessionId" and value:
            return "<session id>"
        if key in _TIMES and isinstance(value, int) and value >= NOW_FROM_MS:
            return "<now>"
        return value


def _sorted(items: list[Any]) -> list[Any]:
    if items and all(isinstance(item, dict) and any(name in item for name in _IDENTITIES) for item in items):
        return sorted(items, key=lambda item: [json.dumps(item[name]) for name in _IDENTITIES if name in item])
    return items
