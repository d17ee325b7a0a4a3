"""AlterConfigs, as raw probes see it: what is not named is taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.alter_configs import AlterConfigsRequest
from tests.differential.case import case
from tests.differential.cases.describe_configs import describe
from tests.differential.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    await_source,
    await_value,
    legacy,
    unchanged_after,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

RETENTION, POLICY = "retention.ms", "cleanup.policy"


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic(segment_ms="5555")
    for version in all_versions(AlterConfigsRequest):
        probe.exchange(legacy((TOPIC, topic, [(RETENTION, f"10{version}")])), version)
        await_value(probe, TOPIC, topic, RETENTION, f"10{version}")
        probe.exchange(describe((TOPIC, topic, [RETENTION, "segment.ms"]), synonyms=True), 4)


@case()
def what_is_not_named_goes(probe: Probe) -> None:
    topic = probe.topic(segment_ms="5555", retention_ms="1000", cleanup_policy="compact")
    probe.exchange(legacy((TOPIC, topic, [(POLICY, "compact"), (RETENTION, "2000")])), 2)
    await_value(probe, TOPIC, topic, RETENTION, "2000")
    probe.exchange(describe((TOPIC, topic)), 4)
    probe.exchange(legacy((TOPIC, topic, [])), 2)
    await_source(probe, TOPIC, topic, RETENTION, 5)
    probe.exchange(describe((TOPIC, topic)), 4)


@case()
def wrong_topics_and_values(probe: Probe) -> None:
    topic = probe.topic()
    for name in (topic, f"{probe.name}-none", "", "a b", "x" * 250):
        for key, value in ((RETENTION, "x"), ("no.such.config", "1"), (RETENTION, "5"), ("", "1"), (RETENTION, None)):
            request = legacy((TOPIC, name, [(key, value)]), validate_only=True)
            probe.exchange(request, 2, note=f"{name[-10:]} {key} {value}")
        probe.exchange(legacy((TOPIC, name, []), validate_only=True), 2, note=f"{name[-10:]} nothing")


@case()
def the_same_key_twice(probe: Probe) -> None:
    topic = probe.topic()
    twice: list[tuple[str, str | None]] = [(RETENTION, "1"), (RETENTION, "2")]
    for version in all_versions(AlterConfigsRequest):
        probe.exchange(legacy((TOPIC, topic, twice)), version)
        probe.exchange(legacy((TOPIC, topic, [(RETENTION, None), (POLICY, None)])), version)


@case()
def the_same_resource_twice_gets_no_response(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    for version, resources in (
        (0, [(TOPIC, topic), (TOPIC, topic)]),
        (2, [(TOPIC, topic), (TOPIC, f"{probe.name}-none"), (TOPIC, topic)]),
        (2, [(99, topic), (98, topic)]),
        (2, [(99, topic), (99, topic)]),
    ):
        request = legacy(*[(kind, name, [(RETENTION, "1000")]) for kind, name in resources])
        probe.expect_silence(request, version, on=probe.connect(), note=str([kind for kind, _ in resources]))
    probe.exchange(describe((TOPIC, topic, [RETENTION])), 4)


@case()
def validate_only(probe: Probe) -> None:
    topic = probe.topic(retention_ms="1000")
    probe.exchange(legacy((TOPIC, topic, [(RETENTION, "5")]), validate_only=True), 2)
    probe.exchange(legacy((TOPIC, topic, []), validate_only=True), 2)
    probe.exchange(describe((TOPIC, topic, [RETENTION])), 4)


@case()
def other_types(probe: Probe) -> None:
    for kind in (-1, 0, 1, 3, BROKER_LOGGER, 64, 99):
        for name in ("1", "", "x"):
            probe.exchange(legacy((kind, name, [("a", "1")])), 2, note=f"{kind} {name}")
    probe.exchange(legacy((BROKER_LOGGER, "1", [("root", "INFO")])), 2)
    for kind, configs in (
        (CLIENT_METRICS, [("interval.ms", "1000")]),
        (CLIENT_METRICS, [("interval.ms", "1")]),
        (CLIENT_METRICS, [("x", "1")]),
        (GROUP, [("consumer.session.timeout.ms", "45000")]),
        (GROUP, [("consumer.session.timeout.ms", "1")]),
        (GROUP, [("x", "1")]),
    ):
        for name in (probe.name, ""):
            request = legacy((kind, name, list(configs)), validate_only=True)
            probe.exchange(request, 2, note=f"{kind} {name} {configs}")


@case()
def brokers(probe: Probe) -> None:
    for name in ("1", "2", "x", "-1"):
        for key, value in (
            ("compression.type", "lz4"),
            ("compression.type", "x"),
            ("node.id", "1"),
            ("num.io.threads", "100"),
            ("no.such.config", "1"),
            ("ssl.protocol", "TLS"),
            ("advertised.listeners", "PLAINTEXT://x:1"),
            ("compression.type", None),
        ):
            request = legacy((BROKER, name, [(key, value)]), validate_only=True)
            probe.exchange(request, 2, note=f"{name!r} {key} {value}")
    probe.exchange(legacy((BROKER, "1", []), validate_only=True), 2)


@case()
def the_default_of_all_brokers(probe: Probe) -> None:
    for key, value in (
        ("compression.type", "lz4"),
        ("compression.type", "x"),
        ("node.id", "1"),
        ("advertised.listeners", "PLAINTEXT://x:1"),
        ("min.insync.replicas", "1"),
    ):
        request = legacy((BROKER, "", [(key, value)]), validate_only=True)
        probe.exchange(request, 2, note=f"{key} {value}")
    probe.exchange(legacy((BROKER, "", []), validate_only=True), 2)


@case()
def a_broker_is_changed(probe: Probe) -> None:
    first, second = "log.cleaner.backoff.ms", "log.cleaner.delete.retention.ms"
    with unchanged_after(probe, BROKER, "1", first, second):
        probe.exchange(legacy((BROKER, "1", [(first, "14000"), (second, "7000000")])), 2)
        await_value(probe, BROKER, "1", second, "7000000")
        probe.exchange(describe((BROKER, "1", [first, second]), synonyms=True), 4)
        probe.exchange(legacy((BROKER, "1", [(first, "13000")])), 2)
        await_value(probe, BROKER, "1", first, "13000")
        probe.exchange(describe((BROKER, "1", [first, second]), synonyms=True), 4)


@case()
def nothing(probe: Probe) -> None:
    for version in all_versions(AlterConfigsRequest):
        probe.exchange(legacy(), version)


@case()
def several_resources(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(
        legacy(
            (TOPIC, topic, [(RETENTION, "1000")]),
            (TOPIC, f"{probe.name}-none", [(RETENTION, "1000")]),
            (BROKER, "2", [(RETENTION, "1000")]),
            (99, "x", []),
        ),
        2,
    )
    await_value(probe, TOPIC, topic, RETENTION, "1000")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff\xff\xff\0", "null resources"),
        (0, b"\0\0\0\1\2\xff\xff\0\0\0\0\0", "null name"),
        (0, b"\0\0\0\1\2\0\1t\xff\xff\xff\xff\0", "null configs"),
        (0, b"\0\0\0\0\0more", "more bytes"),
        (0, b"\0\0\0\0", "no flag"),
        (2, b"\0\0\0", "null resources"),
    ):
        probe.raw_body(33, version, body, note=note)
