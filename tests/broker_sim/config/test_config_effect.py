from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import broker_sim
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.config_effect import has_effect, topic_config_has_effect
from broker_sim.config.definitions import broker_definitions, topic_definitions
from broker_sim.config.topic_config import TopicConfig
from sim_runtime import ssl_settings

RELEASES = ("3.7.2", "4.3.1")

# Modules that know names without acting on what they name: definitions, refusals, and what is shown.
NAMING_ALONE = (
    "broker_config.py",
    "broker_config_validation.py",
    "config_effect.py",
    "config_entries.py",
    "config_names.py",
    "describe_configs.py",
    "resource_config_validation.py",
    "topic_config_validation.py",
    "values.py",
    "cross_field_validation.py",
)
READ_BY_PARTS = ("group.consumer.", "group.share.", "group.streams.", "share.coordinator.state.topic.")
"""Prefixes of names that are put together where they are read."""

ROOT = Path(broker_sim.__file__).parent
SOURCE = "\n".join(path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py")) if path.name not in NAMING_ALONE)
READ_FOR_TLS = Path(ssl_settings.__file__).read_text("utf-8")
BROKER_NAMES = [*dict.fromkeys(name for release in RELEASES for name in broker_definitions(release))]
TOPIC_NAMES = [*dict.fromkeys(name for release in RELEASES for name in topic_definitions(release))]
ATTRIBUTES = [field.name for cls in (BrokerConfig, TopicConfig) for field in fields(cls)]
READ_ATTRIBUTES = frozenset(name for name in ATTRIBUTES if re.search(rf"\.{name}\b", SOURCE))


def is_read(name: str) -> bool:
    if f'"{name}"' in READ_FOR_TLS:
        return True
    return f'"{name}"' in SOURCE or name.replace(".", "_") in READ_ATTRIBUTES or name.startswith(READ_BY_PARTS)


def gives_a_default_to_a_topic(name: str) -> bool:
    return any(
        synonym.name == name and topic_config_has_effect(definition.name)
        for release in RELEASES
        for definition in topic_definitions(release).values()
        for synonym in definition.synonyms
    )


def test_every_broker_configuration_that_is_read_has_an_effect() -> None:
    assert [name for name in BROKER_NAMES if f'"{name}"' in SOURCE and not has_effect(name)] == []


def test_every_broker_configuration_with_an_effect_is_read() -> None:
    acted = [name for name in BROKER_NAMES if has_effect(name)]
    assert [name for name in acted if not is_read(name) and not gives_a_default_to_a_topic(name)] == []


def test_a_default_of_a_topic_configuration_with_an_effect_has_one_too() -> None:
    assert [name for name in BROKER_NAMES if gives_a_default_to_a_topic(name) and not has_effect(name)] == []


def test_every_topic_configuration_with_an_effect_is_read() -> None:
    kept_otherwise = {"cleanup.policy": "compact", "message.timestamp.type": "timestamp_type"}
    source = (ROOT / "config" / "topic_config.py").read_text("utf-8")
    for name in TOPIC_NAMES:
        if topic_config_has_effect(name):
            attribute = kept_otherwise.get(name, name.replace(".", "_"))
            assert attribute in READ_ATTRIBUTES or f'"{name}"' in SOURCE + source, name


def test_a_listeners_own_configuration_has_the_effect_of_what_it_stands_in_for() -> None:
    assert has_effect("listener.name.plaintext.max.connections")
    assert has_effect("listener.name.plaintext.ssl.keystore.type")
    assert not has_effect("listener.name.plaintext.ssl.provider")
    assert not has_effect("no.such.config")


def test_a_message_format_has_an_effect_until_kafka_stopped_looking_at_it() -> None:
    assert [
        topic_config_has_effect("message.format.version", release) for release in ("0.10.2", "2.8", "3.0", "3.7")
    ] == [
        True,
        True,
        False,
        False,
    ]
    assert has_effect("log.message.format.version", "2.8")
    assert not has_effect("log.message.format.version", "3.0")
    assert (
        "log.message.format.version"
        in BrokerConfig.parse({"log.message.format.version": "2.8"}, release="3.7").without_effect
    )
    assert BrokerConfig.parse({"log.message.format.version": "2.8"}, release="2.8").without_effect == []


def test_a_limit_of_what_a_group_may_configure_has_an_effect() -> None:
    limits = [name for name in BROKER_NAMES if re.match(r"group\.(consumer|share|streams)\.(min|max)\.", name)]
    without = [name for name in limits if not has_effect(name)]
    assert without == []
    assert len(limits) > 20
