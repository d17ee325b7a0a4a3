"""confluent-kafka's AdminClient (librdkafka) as kafka-configs is used: describe, alter, alter incrementally."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from tests.interop_python.sample_records import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_MAX = 30
THREADS = "num.io.threads"


def entries_of(admin: AdminClient, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    (future,) = admin.describe_configs([ConfigResource(kind, name)]).values()
    entries: dict[str, ConfigEntry] = future.result(timeout=SECONDS_MAX)
    return entries


def change(admin: AdminClient, kind: ResourceType, name: str, *changes: tuple[str, AlterConfigOpType, str]) -> None:
    entries = [ConfigEntry(key, value, incremental_operation=operation) for key, operation, value in changes]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    (future,) = admin.incremental_alter_configs([resource]).values()
    future.result(timeout=SECONDS_MAX)


def await_true(expected: str, holds: Callable[[], bool]) -> None:
    """Brokers follow the controller: what is changed shows a moment later."""
    deadline = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, expected
        Event().wait(0.02)


@pytest.fixture
def admin(bootstrap_servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap_servers})


def test_a_topic_is_changed_incrementally(admin: AdminClient) -> None:
    def retention() -> ConfigEntry:
        return entries_of(admin, ResourceType.TOPIC, TOPIC)["retention.ms"]

    assert retention().source == ConfigSource.DEFAULT_CONFIG.value
    change(admin, ResourceType.TOPIC, TOPIC, ("retention.ms", AlterConfigOpType.SET, "86400000"))
    await_true("retention.ms is set", lambda: retention().value == "86400000")
    assert retention().source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert not retention().is_default
    change(admin, ResourceType.TOPIC, TOPIC, ("retention.ms", AlterConfigOpType.DELETE, ""))
    await_true("retention.ms is as before", lambda: retention().value == "604800000")


def test_a_list_is_appended_to_and_subtracted_from(admin: AdminClient) -> None:
    def policy() -> str:
        value: str = entries_of(admin, ResourceType.TOPIC, TOPIC)["cleanup.policy"].value
        return value

    change(admin, ResourceType.TOPIC, TOPIC, ("cleanup.policy", AlterConfigOpType.APPEND, "compact"))
    await_true("compact is there", lambda: policy() == "delete,compact")
    change(admin, ResourceType.TOPIC, TOPIC, ("cleanup.policy", AlterConfigOpType.SUBTRACT, "compact"))
    await_true("compact is gone", lambda: policy() == "delete")
    change(admin, ResourceType.TOPIC, TOPIC, ("cleanup.policy", AlterConfigOpType.DELETE, ""))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_not_named_is_taken_away(admin: AdminClient) -> None:
    def values() -> tuple[str, str]:
        entries = entries_of(admin, ResourceType.TOPIC, TOPIC)
        return entries["segment.ms"].value, entries["max.message.bytes"].value

    for configs, expected in (
        ({"segment.ms": "7200000", "max.message.bytes": "2000000"}, ("7200000", "2000000")),
        ({"segment.ms": "3600000"}, ("3600000", "1048588")),
        ({}, ("604800000", "1048588")),
    ):
        resource = ConfigResource(ResourceType.TOPIC, TOPIC, set_config=configs)
        (future,) = admin.alter_configs([resource]).values()
        future.result(timeout=SECONDS_MAX)
        await_true(f"the topic has {configs}", lambda expected=expected: values() == expected)  # type: ignore[misc]


def test_a_broker_takes_more_threads_and_refuses_far_too_many(admin: AdminClient) -> None:
    broker = str(min(admin.list_topics(timeout=SECONDS_MAX).brokers))
    before = entries_of(admin, ResourceType.BROKER, broker)[THREADS].value
    change(admin, ResourceType.BROKER, broker, (THREADS, AlterConfigOpType.SET, str(int(before) + 1)))
    await_true("one more thread", lambda: entries_of(admin, ResourceType.BROKER, broker)[THREADS].value != before)
    shown = entries_of(admin, ResourceType.BROKER, broker)[THREADS]
    assert shown.source == ConfigSource.DYNAMIC_BROKER_CONFIG.value
    with pytest.raises(KafkaException, match="should not be greater than double the current value"):
        change(admin, ResourceType.BROKER, broker, (THREADS, AlterConfigOpType.SET, "1000"))
    change(admin, ResourceType.BROKER, broker, (THREADS, AlterConfigOpType.DELETE, ""))
    await_true("as before", lambda: entries_of(admin, ResourceType.BROKER, broker)[THREADS].value == before)


def test_what_cannot_be_is_refused_in_kafkas_words(admin: AdminClient) -> None:
    for kind, name, key, value, words in (
        (ResourceType.TOPIC, TOPIC, "no.such.config", "1", "Unknown topic config name: no.such.config"),
        (ResourceType.TOPIC, TOPIC, "retention.ms", "x", "Not a number of type LONG"),
        (ResourceType.TOPIC, "no-such-topic", "retention.ms", "1", "The topic 'no-such-topic' does not exist."),
        (ResourceType.BROKER, "1", "node.id", "7", "Cannot update these configs dynamically"),
    ):
        with pytest.raises(KafkaException, match=words):
            change(admin, kind, name, (key, AlterConfigOpType.SET, value))
