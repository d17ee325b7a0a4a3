"""Our ProducerConfig compared with Java's ProducerConfig and KafkaProducer 4.3.1 for the same settings.

`python -m tests.interop.java_producer_config` records Java again; tests/interop checks that the record is still true.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any, Final

from broker_client.config_keys import KEYS, KeyStatus, ValueType
from broker_client.errors import ConfigError
from broker_client.producer_config import ProducerConfig
from tests.client.config.producer_config_cases import GROUND, RECORDED, Settings, all_settings

# Intended differences: the key, the value as JSON, the reason.
DIFFERENT: Final[dict[tuple[str, str], str]] = {
    ("acks", "1"): "YAML and JSON have numbers where Java insists on text",
    ("acks", "-1"): "as above",
    ("acks", "0"): "as above",
    ("bootstrap.servers", '":9092"'): "an address without a host is a mistake",
    ("bootstrap.servers", '"localhost:0"'): "port 0 cannot be connected to",
    ("bootstrap.servers", '"no-such-host.invalid:51999"'): "names are resolved when connected to, not before",
    ("key.serializer", "null"): "without a serializer keys are bytes",
    ("value.serializer", "null"): "without a serializer values are bytes",
    ("enable.metrics.push", "null"): "Java fails with a NullPointerException",
}
_EFFECTIVE_COMPRESSION: Final = {
    "NoCompression": "none",
    "GzipCompression": "gzip",
    "SnappyCompression": "snappy",
    "Lz4Compression": "lz4",
    "ZstdCompression": "zstd",
}


@cache
def recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    return recorded


def is_different(settings: Settings) -> bool:
    return any((name, json.dumps(value)) in DIFFERENT for name, value in settings.items())


def verdict(settings: Settings) -> ProducerConfig | str:
    """Return our configuration, or the text of the error."""
    try:
        return ProducerConfig({**GROUND, **settings})
    except ConfigError as error:
        return str(error)


def is_refused(error: str, settings: Settings) -> bool:
    """True if the error is about a key that we refuse, and not about a rule of Java."""
    return any(name in error and KEYS[name].status is KeyStatus.REFUSED for name in settings)


def compared(value: object) -> object:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return list(value) if isinstance(value, tuple) else value


def different_values(config: ProducerConfig, expected: dict[str, Any]) -> list[str]:
    found = []
    for name, value in expected.items():
        if KEYS[name].type is ValueType.CLASS or KEYS[name].status is KeyStatus.REFUSED:
            continue
        if compared(config[name]) != value:
            found.append(f"{name} is {config[name]!r}, in Java {value!r}")
    return found


def effective(config: ProducerConfig) -> dict[str, Any]:
    accumulator, sender = config.accumulator_config(), config.sender_config()
    codec = accumulator.compression.codec.type_name
    level = f"compression.{codec}.level"
    return {
        "acks": sender.acks,
        "batch.size": accumulator.batch_size,
        "buffer.memory": config.number("buffer.memory"),
        "compression.level": config[level] if level in KEYS else None,
        "compression.type": codec,
        "delivery.timeout.ms": accumulator.delivery_timeout_ms,
        "guarantee.message.order": sender.guarantee_message_order,
        "linger.ms": accumulator.linger_ms,
        "partitioner.adaptive.partitioning.enable": accumulator.adaptive_partitioning,
        "retries": sender.retries,
    }


def mismatch(outcome: dict[str, Any]) -> list[str]:
    """Return the differences from Java."""
    settings = outcome["settings"]
    ours = verdict(settings)
    if isinstance(ours, str):
        if "error" not in outcome:
            return [] if is_refused(ours, settings) else [f"Java takes it, we do not: {ours}"]
        blamed = outcome["blamed"]
        if is_refused(ours, settings):
            return []
        return [] if blamed is None or ours.startswith(blamed) or f" {blamed}" in ours else [f"blamed {blamed}: {ours}"]
    if "error" in outcome:
        return [f"Java refuses it ({outcome['error']} about {outcome['blamed']}), we do not"]
    ground = recorded()["ground"]
    found = different_values(ours, {**ground["values"], **outcome["values"]})
    expected = {**ground["effective"], **outcome["effective"]}
    expected["compression.type"] = _EFFECTIVE_COMPRESSION[expected["compression.type"]]
    mine = effective(ours)
    found += [
        f"effective {name} is {mine[name]}, in Java {expected[name]}" for name in mine if mine[name] != expected[name]
    ]
    return found


def test_every_recorded_case_has_the_result_of_java() -> None:
    found = {
        json.dumps(outcome["settings"]): mismatch(outcome)
        for outcome in recorded()["outcomes"]
        if not is_different(outcome["settings"])
    }
    assert len(found) > 1000
    assert {settings: ways for settings, ways in found.items() if ways} == {}


def test_listed_differences_exist() -> None:
    """A difference that no longer exists must be removed from the list."""
    for (name, value), reason in DIFFERENT.items():
        (outcome,) = [one for one in recorded()["outcomes"] if json.dumps(one["settings"]) == f'{{"{name}": {value}}}']
        ours = verdict(outcome["settings"])
        assert isinstance(ours, str) is not ("error" in outcome) or outcome["error"] != "ConfigException", reason


def test_the_record_holds_the_cases() -> None:
    assert [outcome["settings"] for outcome in recorded()["outcomes"]] == json.loads(json.dumps(all_settings()))


def test_the_table_of_keys_is_that_of_java() -> None:
    ours = [
        {
            "name": key.name,
            "type": key.type.name,
            "importance": key.importance.name,
            "default": compared(key.default),
        }
        for key in KEYS.values()
        if not key.removed_in
    ]
    javas = [{name: key[name] for name in ("name", "type", "importance", "default")} for key in recorded()["keys"]]
    assert ours == javas


def test_ranges_and_valid_texts_are_those_of_java() -> None:
    for key in recorded()["keys"]:
        ours, valid = KEYS[key["name"]], key["valid"]
        if not valid:
            assert (ours.has_range, ours.one_of, ours.non_empty) == (False, (), False)
        elif valid == "non-empty string":
            assert ours.non_empty
        elif "..." in valid:
            bounds = [str(bound) for bound in (ours.minimum, ours.maximum) if bound is not None]
            assert all(bound in valid for bound in bounds)
            assert valid.count(",") == len(bounds)
        else:
            assert ours.ignore_case is valid.startswith("(case insensitive)")
            assert valid.removeprefix("(case insensitive) ") == f"[{', '.join(ours.one_of)}]"
