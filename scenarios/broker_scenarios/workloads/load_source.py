"""The source of a user's records: `--load` names a Parquet file, a folder of them, or a topic of a Kafka."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from broker_scenarios.errors import ScenarioError

__all__ = ["TopicSource", "load_source"]

_SCHEME: Final = "kafka://"
_TOPIC: Final = re.compile(r"kafka://([^/]+:\d+)/([\w.-]+)", re.ASCII)


class TopicSource(NamedTuple):
    """A topic, read from its beginning to its present end."""

    bootstrap_servers: str
    topic: str


def load_source(text: str) -> Path | TopicSource:
    """Return the path, or the topic of kafka://HOST:PORT/TOPIC.

    Raises:
        ScenarioError: the path does not exist, or the text names no topic.
    """
    if text.startswith(_SCHEME):
        found = _TOPIC.fullmatch(text)
        if found is None:
            raise ScenarioError(f"--load {text}: expected kafka://HOST:PORT/TOPIC")
        return TopicSource(found[1], found[2])
    if not Path(text).exists():
        raise ScenarioError(
            f"--load {text} does not exist: expected a Parquet file, a folder of them, or kafka://HOST:PORT/TOPIC"
        )
    return Path(text)
