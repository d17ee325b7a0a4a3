"""Admin requests with values at the edge of what their fields and Kafka's own readers take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.config.definitions import broker_definitions, topic_definitions
from tests.differential.case import case
from tests.differential.cases.create_topics import new, send_create
from tests.differential.cases.describe_configs import describe
from tests.differential.config_requests import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    await_source,
    described,
    incremental,
    legacy,
    unchanged_after,
)
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from tests.differential.probe import Probe

LONG = "x" * 30_000
ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 33, 44
JAVA_CLASS = "java.lang.String"
PRINCIPALS = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


def send_values(probe: Probe, key: str, *values: str, operation: int = SET) -> None:
    """Set each of the values for one broker and for all, with validate_only."""
    for value in values:
        for name in ("1", ""):
            request = incremental((BROKER, name, [(key, operation, value)]), validate_only=True)
            probe.exchange(request, 1, note=f"{key} {operation} {value[:60]!r} of {name!r}")


@case()
def responses_that_do_not_fit(probe: Probe) -> None:
    """A text that repeats a long value cannot be written: the request has failed."""
    topic = probe.topic()
    name = "a" * 32_767
    send_create(probe, 7, new(name), note="a name as long as can be")
    send_create(probe, 2, new(name), new("a/b"), note="beside another")
    for kind in (TOPIC, BROKER, BROKER_LOGGER):
        probe.exchange(
            describe((kind, name, ["retention.ms"]), (TOPIC, topic, ["retention.ms"])), 4, note=f"type {kind}"
        )
    send_values(probe, "principal.builder.class", LONG)
    for key in ("message.format.version", "compression.type", "cleanup.policy"):
        probe.exchange(incremental((TOPIC, topic, [(key, SET, LONG)]), validate_only=True), 1, note=key)
        probe.exchange(legacy((TOPIC, topic, [(key, LONG)]), validate_only=True), 2, note=key)
        send_create(probe, 7, new(f"{topic}-2", **{key: LONG}), note=key, validate_only=True)


@case()
def tags_of_a_header_that_is_sent_on(probe: Probe) -> None:
    """Tags must ascend in a request that a broker encodes again for its controller, not in a forwarded one."""
    name = f"{probe.name}-none".encode()
    body = b"\2\2" + bytes((len(name) + 1,)) + name + b"\2\2a%b\2b\0\0\1\0"
    refused_at_once = b"\2\x03\2x\2\2a%b\2b\0\0\1\0"
    for tags, note in (
        (b"\1\x63\1x", "one"),
        (b"\2\x63\1x\x64\0", "two"),
        (b"\2\x64\0\x63\1x", "descending"),
        (b"\2\x63\0\x63\0", "twice"),
        (b"\1\xfe\xff\xff\xff\7\0", "the largest but one"),
        (b"\1\xff\xff\xff\xff\7\0", "the largest"),
        (b"\1\xff\xff\xff\xff\x0f\0", "minus one"),
        (b"\1\x80\x80\x80\x80\x08\0", "the lowest"),
    ):
        for api_key, version, operation in ((ALTER_CONFIGS, 2, b""), (INCREMENTAL_ALTER_CONFIGS, 1, b"\0")):
            for each, what in ((body, ""), (refused_at_once, ", an unknown type")):
                probe.raw_body(
                    api_key, version, each % operation, header=b"\0\5probe" + tags, note=f"tags: {note}{what}"
                )


@case()
def protocols_of_listeners(probe: Probe) -> None:
    send_values(
        probe, "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "1:1", "a:1,b:2", "x",
        "plaintext:plaintext,controller:plaintext", "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT", ":PLAINTEXT",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_SSL", "PLAINTEXT:,CONTROLLER:PLAINTEXT", "PLAINTEXT://:9092",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:SSL",
    )  # fmt: skip


@case()
def listeners_of_other_names(probe: Probe) -> None:
    for key in ("listeners", "advertised.listeners"):
        send_values(
            probe, key, "PLAINTEXT://h:1", "CONTROLLER://h:2", "PLAINTEXT://h:1,CONTROLLER://h:2,X://h:3", "", ",", "a",
            "PLAINTEXT://h:1,PLAINTEXT://h:2,CONTROLLER://h:3", " PLAINTEXT://h:1 , CONTROLLER://h:2 ", "a,,b",
        )  # fmt: skip


@case()
def connections_of_addresses(probe: Probe) -> None:
    send_values(
        probe, "max.connections.per.ip.overrides", "127.0.0.1:5", "::1:5", "a:1,b:2", "1:+5", "1: 5", "1:-5", "1:",
        "host name:4", "PLAINTEXT://h:1,CONTROLLER://h:2,X://h:3", "a:x,a:5", "a:5,a:x", "é:1", ":5",
    )  # fmt: skip


@case()
def classes(probe: Probe) -> None:
    for key in ("principal.builder.class", "ssl.engine.factory.class", "metric.reporters"):
        send_values(probe, key, JAVA_CLASS, PRINCIPALS, f" {PRINCIPALS} ", " 5 ", "\n", "no.such.Class")


@case()
def times_of_rolls(probe: Probe) -> None:
    for key in ("log.roll.ms", "log.roll.jitter.ms", "log.roll.hours", "log.roll.jitter.hours"):
        send_values(probe, key, "-2", "-1", "0", "1", "9223372036854775807")


@case(releases=("4.3.1",))
def threads_for_remote_logs(probe: Probe) -> None:
    for key in ("reader.threads", "manager.copier.thread.pool.size", "manager.expiration.thread.pool.size",
                "manager.follower.thread.pool.size", "manager.thread.pool.size"):  # fmt: skip
        send_values(probe, f"remote.log.{key}", "-1", "0", "1", "2", "4", "5", "20", "21")


@case()
def lists_of_commas_alone(probe: Probe) -> None:
    keys = ["log.cleanup.policy", "metric.reporters", "ssl.enabled.protocols", "controller.listener.names"]
    keys += ["process.roles", "log.dirs"]
    keys += ["config.providers", "cordoned.log.dirs"] if probe.release == "4.3.1" else []
    for key in keys:
        for operation in (SET, APPEND, SUBTRACT):
            send_values(probe, key, "", ",", ",,", "a,,", ",a", operation=operation)


@case()
def spaces_around_values_of_groups_and_metrics(probe: Probe) -> None:
    for value in (" 500 ", "500\n", "+500", " 5 ", "5", "5 0"):
        probe.exchange(incremental((CLIENT_METRICS, "m", [("interval.ms", SET, value)]), validate_only=True), 1)
    starts = (" latest ", " 5 ", "\n", "Earliest", "by_duration:PT1S ", "By_Duration:PT1S", "by_duration:pt1s")
    for value in (*starts, "by_duration:PT9223372036854775807S", "by_duration:P106751991167301D"):
        probe.exchange(incremental((GROUP, "g", [("share.auto.offset.reset", SET, value)]), validate_only=True), 1)


@case()
def numbers_of_brokers_in_other_digits(probe: Probe) -> None:
    for name in ("\u0661", "+\u0661", "\u0662", "01", "02", "+2", "\u00b9", "1\u00a0"):
        for kind, key, value in ((BROKER, "log.retention.ms", "5"), (BROKER_LOGGER, "no.such", "INFO")):
            probe.exchange(describe((kind, name, ["log.retention.ms"])), 4, note=f"{name!r} of type {kind}")
            probe.exchange(incremental((kind, name, [(key, SET, value)]), validate_only=True), 1, note=f"{name!r}")


def send_and_describe(probe: Probe, kind: int, name: str, key: str, *values: str) -> None:
    """Set each of the values, wait until it is there, describe it, and remove it again."""
    before = described(probe, kind, name, key)
    last = before
    for value in values:
        probe.exchange(incremental((kind, name, [(key, SET, value)])), 1, note=f"{key} {value!r}")
        for _ in attempts(f"{key} of {name!r} to change"):
            found = described(probe, kind, name, key)
            if found != last:
                break
        last = found
        for version in (1, 4):
            probe.exchange(describe((kind, name, [key]), synonyms=True), version, note=f"{key} {value!r}")
    probe.exchange(incremental((kind, name, [(key, DELETE, None)])), 1, note=f"{key} is removed")
    for _ in attempts(f"{key} of {name!r} to be as before"):
        if described(probe, kind, name, key) == before:
            return


@case()
def how_odd_values_are_shown(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    send_and_describe(probe, TOPIC, topic, "retention.ms", " +5 ", "-1")
    send_and_describe(probe, TOPIC, topic, "cleanup.policy", " compact , delete ")
    send_and_describe(probe, TOPIC, topic, "min.cleanable.dirty.ratio", "1e-1")
    for name in ("1", ""):
        send_and_describe(probe, BROKER, name, "leader.replication.throttled.rate", "5", " 6 ")
        send_and_describe(probe, BROKER, name, "log.retention.ms", " +5 ")


@case(releases=("4.3.1",))
def values_of_groups_and_metrics_are_shown_as_they_are_read(probe: Probe) -> None:
    name = probe.name
    send_and_describe(probe, CLIENT_METRICS, name, "interval.ms", " 500 ", "+501")
    send_and_describe(probe, CLIENT_METRICS, name, "metrics", " a , b ")
    send_and_describe(probe, CLIENT_METRICS, name, "match", " client_id = a ")
    send_and_describe(probe, GROUP, name, "consumer.session.timeout.ms", " 50000 ")
    send_and_describe(probe, GROUP, name, "share.auto.offset.reset", " earliest ")


@case(releases=("4.3.1",))
def a_hidden_configuration_is_shown_where_it_was_set(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(describe((TOPIC, topic, ["internal.segment.bytes"])), 4, note="not set")
    send_and_describe(probe, TOPIC, topic, "internal.segment.bytes", " 77777 ")


def note_order(probe: Probe, kind: int, name: str, keys: list[str] | None) -> None:
    """Write down in which order configurations are listed."""
    response: Any = probe.quiet(describe((kind, name, keys)), 4)
    probe.write(type=kind, requested=keys, order=[each.name for each in response.results[0].configs])


@case()
def the_order_of_configurations(probe: Probe) -> None:
    """The order is that of a hash table, of the requested keys or of all."""
    topic = probe.topic(retention_ms="5", cleanup_policy="compact")
    topics, brokers = sorted(topic_definitions(probe.release)), sorted(broker_definitions(probe.release))
    for step in (1, 2, 3, 5, 7, 11):
        note_order(probe, TOPIC, topic, topics[::step])
        note_order(probe, BROKER, "1", brokers[::step])
    own = [f"own.{probe.release[0]}.{number}" for number in range(3)]
    with unchanged_after(probe, BROKER, "1", *own):
        probe.quiet(incremental((BROKER, "1", [(key, SET, "1") for key in own])), 1)
        await_source(probe, BROKER, "1", own[0], 2)
        note_order(probe, BROKER, "1", [*own, *brokers[::20]])
        note_order(probe, BROKER, "1", own)
