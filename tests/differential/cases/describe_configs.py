"""DescribeConfigs, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.differential.case import case
from tests.differential.cases.find_coordinator import GROUP, TRANSACTION, await_coordinator
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8

OF_THE_MACHINE = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.voters",
        "group.initial.rebalance.delay.ms",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "node.id",
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        "process.roles",
        "transaction.state.log.min.isr",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
    }
)
"""Configurations that a test's real broker is given to run at all."""


def describe(
    *resources: tuple[int, str] | tuple[int, str, list[str] | None], synonyms: bool = False, documentation: bool = False
) -> DescribeConfigsRequest:
    """Return a request about resources: type, name and, unless all are requested, the keys."""
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=each[0], resource_name=each[1], configuration_keys=each[2] if len(each) == 3 else None
            )
            for each in resources
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )


def of_any_machine(response: Any) -> Any:
    """Return the response without the configurations that a test's broker needs."""
    results = [
        each | {"configs": [config for config in each["configs"] if config["name"] not in OF_THE_MACHINE]}
        for each in response["results"]
    ]
    return response | {"results": results}


@case()
def a_topic_in_every_version(probe: Probe) -> None:
    topic = probe.topic(retention_ms="1000", cleanup_policy="compact")
    for version in all_versions(DescribeConfigsRequest):
        probe.exchange(describe((TOPIC, topic)), version)


@case()
def synonyms_of_a_topic(probe: Probe) -> None:
    topic = probe.topic(retention_ms="1000", segment_bytes="2000000")
    for version in (1, 3, 4):
        probe.exchange(describe((TOPIC, topic), synonyms=True), version)


@case()
def documentation_of_a_topic(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    keys = ["retention.ms", "cleanup.policy"]
    for version in (3, 4):
        probe.exchange(describe((TOPIC, topic, keys), documentation=True), version)
    probe.exchange(describe((TOPIC, topic), documentation=True, synonyms=True), 4)


@case()
def some_keys_of_a_topic(probe: Probe) -> None:
    topic = probe.topic(retention_ms="1000")
    for keys in (
        ["retention.ms"],
        ["retention.ms", "segment.ms"],
        ["retention.ms", "retention.ms"],
        [],
        ["no.such.config"],
        ["retention.ms", "no.such.config"],
        [""],
        ["RETENTION.MS"],
        ["log.retention.ms"],
    ):
        for version in (1, 4):
            probe.exchange(describe((TOPIC, topic, keys)), version, note=str(keys))


@case()
def unknown_and_invalid_topics(probe: Probe) -> None:
    for name in (f"{probe.name}-none", "", "a b", ".", "x" * 250):
        for version in (1, 4):
            probe.exchange(describe((TOPIC, name)), version, note=name[:20])


@case()
def the_broker(probe: Probe) -> None:
    for version in (1, 4):
        probe.exchange(describe((BROKER, "1")), version, only=of_any_machine)


@case()
def synonyms_of_the_broker(probe: Probe) -> None:
    probe.exchange(describe((BROKER, "1"), synonyms=True), 4, only=of_any_machine)


@case()
def documentation_of_the_broker(probe: Probe) -> None:
    probe.exchange(describe((BROKER, "1"), documentation=True), 4, only=of_any_machine)


@case()
def some_keys_of_the_broker(probe: Probe) -> None:
    for keys in (
        ["log.retention.ms"],
        ["log.retention.hours", "log.retention.minutes", "log.retention.ms"],
        ["num.io.threads", "no.such.config"],
        ["ssl.keystore.password", "ssl.key.password", "sasl.jaas.config"],
        ["min.insync.replicas", "message.max.bytes"],
        ["retention.ms"],
        [],
    ):
        for synonyms in (False, True):
            request = describe((BROKER, "1", keys), synonyms=synonyms)
            probe.exchange(request, 4, note=f"{keys} {synonyms}", only=of_any_machine)


@case()
def the_default_of_all_brokers(probe: Probe) -> None:
    for version in (1, 4):
        probe.exchange(describe((BROKER, "")), version)
        probe.exchange(describe((BROKER, ""), synonyms=True, documentation=True), version)
    probe.exchange(describe((BROKER, "", ["min.insync.replicas"])), 4)


@case()
def brokers_other_than_the_receiver(probe: Probe) -> None:
    for name in ("2", "0", "-1", "x", "1 ", "01", "99999999999", "1.0"):
        for version in (1, 4):
            probe.exchange(describe((BROKER, name, ["num.io.threads"])), version, note=repr(name))


@case()
def unknown_resource_types(probe: Probe) -> None:
    for resource_type in (0, 1, 3, 5, 6, 7, 9, 64, -1, 127):
        for version in (1, 4):
            probe.exchange(describe((resource_type, "x")), version, note=str(resource_type))


@case()
def broker_loggers_of_others(probe: Probe) -> None:
    for name in ("", "2", "x"):
        probe.exchange(describe((BROKER_LOGGER, name)), 4, note=name)
    probe.exchange(describe((BROKER_LOGGER, "1", ["no.such.logger"])), 4)


@case()
def client_metrics_and_groups(probe: Probe) -> None:
    for resource_type in (16, 32):
        for name in ("", "x", "a b"):
            for version in (1, 4):
                probe.exchange(describe((resource_type, name)), version, note=f"{resource_type} {name}")
        probe.exchange(describe((resource_type, "x"), synonyms=True, documentation=True), 4, note=str(resource_type))
        probe.exchange(describe((resource_type, "x", ["no.such.key"])), 4, note=str(resource_type))


@case()
def an_internal_topic(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    await_coordinator(probe, TRANSACTION)
    for name in ("__consumer_offsets", "__transaction_state"):
        probe.exchange(describe((TOPIC, name), synonyms=True), 4)


@case()
def several_resources(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    keys = ["retention.ms"]
    request = describe((TOPIC, topic, keys), (BROKER, "1", ["num.io.threads"]), (TOPIC, f"{probe.name}-none"))
    for version in (1, 4):
        probe.exchange(request, version)
    probe.exchange(describe((BROKER, "1", keys), (BROKER, "2", keys)), 4)


@case()
def the_same_resource_twice(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    probe.exchange(describe((TOPIC, topic, ["retention.ms"]), (TOPIC, topic, ["segment.ms"])), 4)
    probe.exchange(describe((TOPIC, f"{probe.name}-none"), (TOPIC, f"{probe.name}-none")), 4)
    probe.exchange(describe((BROKER, "1", ["num.io.threads"]), (BROKER, "1", ["num.io.threads"])), 4)


@case()
def nothing(probe: Probe) -> None:
    for version in all_versions(DescribeConfigsRequest):
        probe.exchange(describe(), version)


@case()
def every_kind_of_override(probe: Probe) -> None:
    topic = probe.topic(
        retention_ms=None,
        compression_type="lz4",
        preallocate="true",
        min_cleanable_dirty_ratio="0.9",
        message_timestamp_type="LogAppendTime",
        min_insync_replicas="3",
        flush_messages="7",
    )
    for version in (1, 4):
        probe.exchange(describe((TOPIC, topic), synonyms=True), version)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (1, b"", "empty"),
        (1, b"\xff\xff\xff\xff\0", "null resources"),
        (1, b"\0\0\0\1\2\xff\xff\xff\xff\xff\xff\0", "null name"),
        (1, b"\0\0\0\1\2\0\1t\0\0\0\1\xff\xff\0", "a null key"),
        (1, b"\0\0\0\0\0more", "more bytes"),
        (1, b"\0\0\0\0", "no flag"),
        (4, b"\0\0\0\0", "null resources"),
    ):
        probe.raw_body(32, version, body, note=note)
