"""Documents drawn from the JSON schema of scenario files: a small walk over it.

Every document fits the schema. Names are drawn from a few, so that the parts of a document refer to each other, and
numbers that make a run large are small. What the schema cannot express, such as a name that nothing has, is left to the
reader of files, which refuses it by name.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

import broker_client.defects
import broker_sim.defects
from broker_scenarios.language.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
__all__ = ["SCHEMA", "document", "documents"]

SCHEMA: Final = json_schema()
_WORDS: Final = ("orders", "bills", "g", "t", "app", "first")
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "topics": ("orders", "bills"),
    "topic": ("orders", "bills"),
    "clients": ("app", "reader"),
    "client": ("app", "reader", "app*", "*"),
    "kill_client": ("app", "reader"),
    "pause_client": ("app", "reader"),
    "restart_client": ("app", "reader"),
    "resume_client": ("app", "reader"),
    "rules": ("first", "second"),
    "rule": ("first", "second"),
    "after": ("first", "second"),
    "fired": ("first", "second"),
    "group": ("g",),
    "force_rebalance": ("g",),
    "transaction": ("t",),
    "to": ("orders", "bills"),
    "delete_topic": ("orders", "bills"),
    "recreate_topic": ("orders", "bills"),
    "api": ("Produce", "Fetch", "Metadata", "InitProducerId", "EndTxn", "JoinGroup", "FindCoordinator", "ApiVersions"),
    "release": ("4.3.1", "3.7.2", "2.8.2", "1.1.1", "0.11.0.3", "0.10.2.2"),
    "defects": (*broker_sim.defects.DEFECTS, *broker_client.defects.DEFECTS),
    "set": ("throttle_time_ms", "responses[*].partition_responses[*].base_offset", "topics[*].error_code"),
    "subscribe": ("orders", "bills"),
    "assign": ("orders", "bills"),
    "compression.type": ("gzip", "none", "zstd"),
    "always": (),
}
"""The texts of keys; other keys have the example of the schema, or any word."""
_CONFIGS: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "producer": {
        "acks": ("all", 1, 0),
        "enable.idempotence": (True, False),
        "linger.ms": (0, 5),
        "retries": (0, 3),
        "max.in.flight.requests.per.connection": (1, 5, 6),
        "request.timeout.ms": (300, 3_000),
        "delivery.timeout.ms": (1_000, 8_000),
        "batch.size": (0, 200, 16_384),
        "buffer.memory": (2_000, 100_000),
        "max.block.ms": (0, 500),
        "compression.type": ("none", "gzip", "lz4"),
        "transactional.id": ("t",),
        "transaction.timeout.ms": (1_000,),
        "metadata.max.age.ms": (100, 300_000),
        "reconnect.backoff.ms": (10, 50),
    },
    "consumer": {
        "group.id": ("g",),
        "auto.offset.reset": ("earliest", "latest", "none"),
        "isolation.level": ("read_committed", "read_uncommitted"),
        "enable.auto.commit": (True, False),
        "auto.commit.interval.ms": (0, 100),
        "max.poll.records": (1, 500),
        "session.timeout.ms": (6_000,),
        "group.protocol": ("classic", "consumer"),
        "fetch.min.bytes": (1, 10_000),
    },
    "topic": {
        "min.insync.replicas": (1, 2, 5),
        "unclean.leader.election.enable": (True, False),
        "max.message.bytes": (100, 1_000_000),
        "cleanup.policy": ("compact", "delete"),
        "retention.ms": (0, 1_000),
        "segment.bytes": (1_048_576,),
        "flush.messages": (1,),
        "message.timestamp.type": ("LogAppendTime",),
    },
    "broker": {
        "min.insync.replicas": (1, 2),
        "replica.lag.time.max.ms": (500,),
        "connections.max.idle.ms": (1_000,),
        "num.io.threads": (1,),
        "queued.max.requests": (1,),
        "group.initial.rebalance.delay.ms": (0,),
        "transactional.id.expiration.ms": (1_000,),
        "log.retention.ms": (1_000,),
    },
}
_AT_MOST: Final = {
    "brokers": 3,
    "controllers": 3,
    "partitions": 3,
    "replication_factor": 3,
    "count": 4,
    "records": 40,
    "producers": 2,
    "times": 3,
    "keys": 100,
    "size_bytes": 20_000,
    "bytes": 20_000,
    "deadline_s": 30,
    "send": 5,
    "poll": 5,
    "fired": 3,
}
"""The largest numbers of keys that make a run large."""
_AT_LEAST: Final = {"every_ms": 20, "rate_per_second": 10}
"""The smallest numbers of keys that make a run large."""
_SOMETIMES: Final = {"flip": 0.15, "base": 0.0, "deadline_s": 1.0, "claim": 0.0, "clients": 1.0, "rules": 0.7}
"""How often an optional key of the document is there."""
_OPTIONAL_MAX: Final = 3
_TOGETHER: Final = (
    frozenset({"why", "expect"}),
    frozenset({"brokers", "controllers"}),
    frozenset({"partitions", "replication_factor"}),
    frozenset({"producers", "records", "rate_per_second"}),
    frozenset({"records", "rate_per_second"}),
    frozenset({"measure", "is"}),
)
"""The keys that a mapping has; the first set whose names it knows."""
_WHOLE_SHARE: Final = 0.9
_FOUND_ALWAYS: Final = ("verdict", "errors", "outcome", "transactions", "calls", "live_within_ms", "lost", "duplicate")
_DRAW: Final = "#/$defs/draw"
_DRAW_SHARE: Final = 0.05
"""How often a value is one that the seed of the run draws; its schema does not state of which kind."""
_EXAMPLE_SHARE: Final = 0.3
"""How often a value is the example of the schema."""


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """Documents that fit the schema, one per seed: hypothesis' own choices would take longer than the runs."""
    return st.integers(0, 2**63 - 1).map(lambda seed: document(Random(seed)))


def document(random: Random) -> dict[str, Any]:
    """A document that fits the schema. Most have what their scripts need; the rest is for the reader to refuse."""
    found: dict[str, Any] = drawn(SCHEMA["else"], random, "")
    if random.random() < _WHOLE_SHARE:
        for client in found.get("clients", {}).values():
            client.setdefault("producer", {})
            client.setdefault("consumer", {})
            if "load" not in client:
                client.setdefault("script", ["flush"])
            client.pop("defects", None)
            client.pop("driver", None)
        found["cluster"].pop("defects", None)
        found["expect"] = {name: value for name, value in found["expect"].items() if name in _FOUND_ALWAYS}
        found["cluster"]["brokers"] = 3
        found["topics"].setdefault("orders", {"partitions": 2, "replication_factor": 1})
        found.pop("always", None)
        if "load" not in found:
            found.pop("producer", None)
    return found


def drawn(schema: Mapping[str, Any], random: Random, key: str) -> Any:
    """A value that fits a schema; `key` is the nearest key above it."""
    if "$ref" in schema:
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], **rest}
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            kinds = [kind for kind in schema[choice] if kind.get("$ref") != _DRAW]
            if len(kinds) < len(schema[choice]) and random.random() < _DRAW_SHARE:
                return {"one_of": [drawn(random.choice(kinds), random, key) for _ in range(2)]}
            return drawn(random.choice(kinds), random, key)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "type" not in schema:
        return random.choice((0, 3, -1, 2**40, "text", None, []))
    kind = schema["type"]
    if isinstance(kind, list):
        kind = random.choice(kind)
    if kind == "object":
        return _object(schema, random, key)
    if kind == "array":
        count = random.randint(schema.get("minItems", 0), min(schema.get("maxItems", 9), 4))
        values = [drawn(schema["items"], random, key) for _ in range(count)]
        is_range = schema.get("maxItems") == 2 and all(isinstance(value, int | float) for value in values)
        return sorted(values) if is_range else values
    if kind == "null":
        return None
    if kind == "boolean":
        return random.random() < 0.5
    return _number(schema, random, key, whole=kind == "integer") if kind != "string" else _text(schema, random, key)


def _object(schema: Mapping[str, Any], random: Random, key: str) -> dict[str, Any]:
    if key == "config":
        key = "topic" if "topic" in schema.get("description", "") else "broker"
    if key in _CONFIGS and "properties" not in schema:
        known = _CONFIGS[key]
        names = random.sample(sorted(known), random.randint(schema.get("minProperties", 0), 3))
        return {name: random.choice(known[name]) for name in names}
    properties = schema.get("properties", {})
    required = set(schema.get("required", ()))
    if not key:
        required |= {"title", "cluster", "topics", "expect"}
    if {"act", "select", "phase"} <= properties.keys():
        required.add("act")
    # The schema leaves out what a `base` may bring.
    required |= next((names for names in _TOGETHER if names <= properties.keys()), frozenset())
    wanted = [name for name in properties if name in required]
    optional = [name for name in properties if name not in required]
    if not key:
        wanted += [name for name in optional if random.random() < _SOMETIMES.get(name, 0.2)]
    elif optional:
        least = max(0, schema.get("minProperties", 0) - len(wanted))
        most = max(least, min(_OPTIONAL_MAX, schema.get("maxProperties", _OPTIONAL_MAX), len(optional)))
        wanted += random.sample(optional, random.randint(least, most))
    value = {name: _of_key(properties[name], random, name) for name in wanted}
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and "properties" not in schema:
        names = schema.get("propertyNames", {})
        for _ in range(random.randint(1, 2)):
            value[str(_text({"type": "string", **names}, random, key))] = _of_key(more, random, key)
    return value


def _of_key(schema: Mapping[str, Any], random: Random, key: str) -> Any:
    examples = schema.get("examples")
    if examples and key not in _NAMES and random.random() < _EXAMPLE_SHARE:
        return examples[0]
    return drawn(schema, random, key)


def _number(schema: Mapping[str, Any], random: Random, key: str, *, whole: bool) -> float:
    low = max(schema.get("minimum", schema.get("exclusiveMinimum", 1)), _AT_LEAST.get(key, -(2**63)))
    high = min(schema.get("maximum", 2**31), _AT_MOST.get(key, 2**63))
    number = random.choice((low, low + 1, low + 2, 100, 1_000, 5_000, high))
    number = max(low, min(high, number))
    if "exclusiveMinimum" in schema and number <= schema["exclusiveMinimum"]:
        number = min(high, number + 1)
    as_whole = random.random() < 0.5 and int(number) >= low
    return int(number) if whole or as_whole else float(number)


def _text(schema: Mapping[str, Any], random: Random, key: str) -> str:
    if "enum" in schema:
        return str(random.choice(schema["enum"]))
    pattern = schema.get("pattern", "")
    fitting = [name for name in _NAMES.get(key, ()) if re.search(pattern, name)]
    if fitting:
        return random.choice(fitting)
    if "([0-9]+)$" in pattern and pattern.startswith("^(>="):
        return random.choice((">= 0", ">= 1", "<= 3", "2"))
    texts = [text for text in _OF_PATTERNS if pattern and re.search(pattern, text)]
    examples = [each for each in schema.get("examples", ()) if isinstance(each, str)]
    return random.choice(texts or examples or [word for word in _WORDS if re.search(pattern, word)])


_OF_PATTERNS: Final = (
    "orders-0", "bills-1", "all", "brokers", "controllers", "clients", "client app", "self", "any", "active controller",
    "leader of orders-0", "any follower of orders-0", "coordinator of group g", "coordinator of transaction t",
    "killed by first",
)  # fmt: skip
"""The texts of patterns: brokers, partitions and ends of links."""
