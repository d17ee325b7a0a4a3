"""Dynamic configurations of brokers, loggers and the cluster's defaults, by IncrementalAlterConfigs (KIP-226, KIP-412).

Every case puts back what it has changed.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from tests.differential.case import case
from tests.differential.cases.describe_configs import describe, of_any_machine
from tests.differential.config_requests import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    DELETE,
    SET,
    SUBTRACT,
    TOPIC,
    await_source,
    await_value,
    incremental,
    unchanged_after,
)

if TYPE_CHECKING:
    from tests.differential.config_requests import Change
    from tests.differential.probe import Probe

THREADS, RETENTION = "num.io.threads", "log.retention.ms"
INVISIBLE = "sasl.jaas.config"


@case()
def one_broker_and_all(probe: Probe) -> None:
    key = "log.cleaner.threads"
    with unchanged_after(probe, BROKER, "1", key), unchanged_after(probe, BROKER, "", key):
        for version in (0, 1):
            probe.exchange(incremental((BROKER, "", [(key, SET, "2")])), version)
        await_value(probe, BROKER, "", key, "2")
        await_value(probe, BROKER, "1", key, "2")
        for name in ("", "1"):
            probe.exchange(describe((BROKER, name, [key]), synonyms=True), 4)
            probe.exchange(describe((BROKER, name, [key])), 1)
        probe.exchange(incremental((BROKER, "1", [(key, SET, "1")])), 1)
        await_value(probe, BROKER, "1", key, "1")
        for name in ("", "1"):
            probe.exchange(describe((BROKER, name, [key]), synonyms=True), 4)
    probe.exchange(describe((BROKER, "1", [key]), synonyms=True), 4, note="as before")


@case()
def a_topic_inherits(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    keys = ["max.message.bytes", "retention.ms", "segment.bytes"]
    names = ("message.max.bytes", "log.retention.ms", "log.segment.bytes")
    with unchanged_after(probe, BROKER, "1", *names), unchanged_after(probe, BROKER, "", *names):
        changes: list[Change] = [(names[0], SET, "2000000"), (names[1], SET, "77777"), (names[2], SET, "33333333")]
        probe.exchange(incremental((BROKER, "", changes)), 1)
        await_value(probe, BROKER, "1", names[2], "33333333")
        probe.exchange(describe((TOPIC, topic, keys), synonyms=True), 4)
        probe.exchange(incremental((BROKER, "1", [(names[0], SET, "3000000")])), 1)
        await_value(probe, BROKER, "1", names[0], "3000000")
        probe.exchange(describe((TOPIC, topic, keys), synonyms=True), 4)
        probe.exchange(describe((BROKER, "1", list(names)), synonyms=True), 4)
    probe.exchange(describe((TOPIC, topic, keys), synonyms=True), 4, note="as before")


@case()
def times_of_many_units(probe: Probe) -> None:
    keys = ["log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms", "log.roll.hours"]
    with unchanged_after(probe, BROKER, "1", "log.retention.ms", "log.roll.ms"):
        probe.exchange(
            incremental((BROKER, "1", [("log.retention.ms", SET, "60000"), ("log.roll.ms", SET, "61000")])), 1
        )
        await_value(probe, BROKER, "1", "log.roll.ms", "61000")
        probe.exchange(describe((BROKER, "1", keys), synonyms=True), 4)
    for key in ("log.retention.hours", "log.retention.minutes", "log.roll.hours", "log.flush.scheduler.interval.ms"):
        probe.exchange(incremental((BROKER, "1", [(key, SET, "1")]), validate_only=True), 1, note=key)


@case()
def other_brokers(probe: Probe) -> None:
    for name in ("2", "0", "-1", "x", "1 ", "01", "+1", "99999999999", "1.0"):
        for changes in ([(THREADS, SET, "8")], [("process.roles", SET, "x")], []):
            request = incremental((BROKER, name, changes), validate_only=True)
            probe.exchange(request, 1, note=f"{name!r} {changes}")


@case()
def what_cannot_be_changed(probe: Probe) -> None:
    for key in (
        "process.roles",
        "node.id",
        "broker.id",
        "broker.rack",
        "log.dirs",
        "log.dir",
        "auto.create.topics.enable",
        "num.partitions",
        "queued.max.requests",
        "socket.request.max.bytes",
        "socket.send.buffer.bytes",
        "default.replication.factor",
        "delete.topic.enable",
        "fetch.max.bytes",
        "replica.lag.time.max.ms",
        "log.retention.hours",
        "log.roll.hours",
        "transaction.max.timeout.ms",
        "connections.max.idle.ms",
        "inter.broker.listener.name",
        "sasl.mechanism.inter.broker.protocol",
        "principal.builder.class",
        "super.users",
        "authorizer.class.name",
        "group.max.size",
        "offsets.topic.num.partitions",
        "controller.quorum.voters",
        "security.inter.broker.protocol",
        "zookeeper.connect",
        "inter.broker.protocol.version",
        "log.message.format.version",
    ):
        for name in ("1", ""):
            request = incremental((BROKER, name, [(key, SET, "1")]), validate_only=True)
            probe.exchange(request, 1, note=f"{key} of {name!r}")
    probe.exchange(incremental((BROKER, "1", [("node.id", DELETE, None)]), validate_only=True), 1)
    probe.exchange(incremental((BROKER, "1", [("node.id", APPEND, "1")]), validate_only=True), 1)
    probe.exchange(incremental((BROKER, "1", [("log.dirs", APPEND, "1")]), validate_only=True), 1)
    probe.exchange(incremental((BROKER, "1", [("node.id", SET, "1"), (THREADS, SET, "x")]), validate_only=True), 1)


@case()
def of_one_broker_only(probe: Probe) -> None:
    for key, value in (
        ("advertised.listeners", "PLAINTEXT://127.0.0.1:1"),
        ("ssl.keystore.location", "/nowhere"),
        ("ssl.keystore.password", "secret"),
        ("ssl.truststore.type", "JKS"),
        ("ssl.enabled.protocols", "TLSv1.2"),
        ("sasl.jaas.config", "x required;"),
        ("listener.name.plaintext.max.connections", "5"),
        ("listener.name.plaintext.ssl.keystore.type", "JKS"),
        ("listener.name.plaintext.no.such.config", "x"),
    ):
        request = incremental((BROKER, "", [(key, SET, value)]), validate_only=True)
        probe.exchange(request, 1, note=key)


@case()
def security_without_a_listener(probe: Probe) -> None:
    for key in ("ssl.keystore.location", "ssl.keystore.password", "ssl.protocol", "ssl.client.auth"):
        probe.exchange(incremental((BROKER, "1", [(key, SET, "x")]), validate_only=True), 1, note=key)


@case()
def thread_pools(probe: Probe) -> None:
    for key in (
        "num.io.threads",
        "num.network.threads",
        "num.replica.fetchers",
        "num.recovery.threads.per.data.dir",
        "background.threads",
        "log.cleaner.threads",
    ):
        for value in ("0", "-1", "1", "2", "3", "4", "6", "8", "16", "17", "100", "x", ""):
            for name in ("1", ""):
                request = incremental((BROKER, name, [(key, SET, value)]), validate_only=True)
                probe.exchange(request, 1, note=f"{key}={value} of {name!r}")


@case()
def more_threads(probe: Probe) -> None:
    with unchanged_after(probe, BROKER, "1", THREADS):
        probe.exchange(incremental((BROKER, "1", [(THREADS, SET, "12")])), 1)
        await_value(probe, BROKER, "1", THREADS, "12")
        probe.exchange(describe((BROKER, "1", [THREADS]), synonyms=True), 4)
        for value in ("5", "6", "24", "25"):
            probe.exchange(incremental((BROKER, "1", [(THREADS, SET, value)]), validate_only=True), 1, note=value)


@case()
def values_that_are_wrong(probe: Probe) -> None:
    for key, value in (
        (RETENTION, "x"),
        (RETENTION, "0"),
        (RETENTION, "-2"),
        ("log.segment.bytes", "13"),
        ("log.segment.bytes", "1048575"),
        ("log.segment.bytes", "1048576"),
        ("log.cleanup.policy", "shred"),
        ("log.cleanup.policy", ""),
        ("log.cleanup.policy", "delete,,compact"),
        ("compression.type", "brotli"),
        ("compression.type", "gzip"),
        ("message.max.bytes", "-1"),
        ("max.connections", "-1"),
        ("max.connections", "0"),
        ("max.connections.per.ip", "-1"),
        ("max.connections.per.ip", "0"),
        ("max.connections.per.ip.overrides", "127.0.0.1:5"),
        ("max.connections.per.ip.overrides", "nonsense"),
        ("max.connections.per.ip.overrides", "127.0.0.1:x"),
        ("max.connection.creation.rate", "-1"),
        ("max.connection.creation.rate", "0"),
        ("min.insync.replicas", "0"),
        ("log.cleaner.dedupe.buffer.size", "1"),
        ("log.cleaner.io.buffer.load.factor", "x"),
        ("log.cleaner.backoff.ms", "-1"),
        ("log.cleaner.io.max.bytes.per.second", "nan"),
        ("log.message.timestamp.type", "now"),
        ("producer.id.expiration.ms", "-1"),
        ("producer.id.expiration.ms", "0"),
        ("transaction.partition.verification.enable", "x"),
        ("unclean.leader.election.enable", "x"),
        ("metric.reporters", "no.such.Class"),
        ("metric.reporters", ""),
        ("log.local.retention.ms", "-1"),
        ("log.local.retention.ms", "604800001"),
        ("log.local.retention.bytes", "-1"),
        ("remote.log.index.file.cache.total.size.bytes", "0"),
        ("remote.log.manager.copy.max.bytes.per.second", "0"),
        ("leader.replication.throttled.rate", "-1"),
        ("leader.replication.throttled.rate", "1000"),
        ("follower.replication.throttled.rate", "x"),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "-1"),
        ("log.cleaner.min.compaction.lag.ms", "9223372036854775807"),
        ("listeners", "PLAINTEXT://127.0.0.1:1"),
        ("listener.security.protocol.map", "nonsense"),
        ("share.coordinator.threads", "5"),
        ("group.coordinator.threads", "5"),
        ("cordoned.log.dirs", "/nowhere"),
        ("group.consumer.session.timeout.ms", "45000"),
        ("sasl.enabled.mechanisms", "PLAIN"),
        ("ssl.principal.mapping.rules", "x"),
    ):
        probe.exchange(incremental((BROKER, "1", [(key, SET, value)]), validate_only=True), 1, note=f"{key}={value}")
        probe.exchange(
            incremental((BROKER, "", [(key, SET, value)]), validate_only=True), 1, note=f"{key}={value} of all"
        )


@case()
def lists_grow_and_shrink(probe: Probe) -> None:
    key = "log.cleanup.policy"
    with unchanged_after(probe, BROKER, "1", key):
        for operation, value, expected in (
            (APPEND, "compact", "delete,compact"),
            (SUBTRACT, "delete", "compact"),
            (APPEND, "delete", "compact,delete"),
        ):
            probe.exchange(incremental((BROKER, "1", [(key, operation, value)])), 1)
            await_value(probe, BROKER, "1", key, expected)
            probe.exchange(describe((BROKER, "1", [key]), synonyms=True), 4)
    for operation in (APPEND, SUBTRACT):
        for name in (THREADS, "compression.type", "no.such.config", "metric.reporters", key):
            for value in ("1", ""):
                request = incremental((BROKER, "1", [(name, operation, value)]), validate_only=True)
                probe.exchange(request, 1, note=f"{operation} {name} {value!r}")


@case()
def lists_of_odd_shapes(probe: Probe) -> None:
    for key in (
        "listeners",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "sasl.enabled.mechanisms",
        "metric.reporters",
        "cordoned.log.dirs",
        "log.cleanup.policy",
        "sasl.kerberos.principal.to.local.rules",
    ):
        for value in ("", ",", "a,,b", "a,a", " a , a "):
            request = incremental((BROKER, "1", [(key, SET, value)]), validate_only=True)
            probe.exchange(request, 1, note=f"{key}={value!r}")


@case()
def several_that_are_wrong(probe: Probe) -> None:
    for changes in (
        [("node.id", SET, "1"), ("broker.id", SET, "1"), ("log.dirs", SET, "x"), ("num.partitions", SET, "1")],
        [("ssl.key.password", SET, "x"), ("ssl.keystore.type", SET, "x"), ("ssl.keystore.location", SET, "x")],
        [("num.io.threads", SET, "x"), ("compression.type", SET, "x"), ("background.threads", SET, "0")],
        [("num.io.threads", SET, "100"), ("background.threads", SET, "100"), ("num.replica.fetchers", SET, "100")],
        [("num.io.threads", SET, "100"), ("max.connections", SET, "0"), ("log.cleaner.threads", SET, "9")],
        [("log.retention.ms", SET, "0"), ("log.cleaner.dedupe.buffer.size", SET, "1"), (THREADS, SET, "100")],
        [("listeners", SET, "x"), ("principal.builder.class", SET, "x"), ("sasl.jaas.config", SET, "x")],
    ):
        for name in ("1", ""):
            request = incremental((BROKER, name, list(changes)), validate_only=True)
            probe.exchange(request, 1, note=f"{[each[0] for each in changes]} of {name!r}")


@case()
def two_that_are_wrong(probe: Probe) -> None:
    wrong = {
        "listener.security.protocol.map": "nonsense",
        "listeners": "nonsense",
        "advertised.listeners": "nonsense",
        "log.retention.ms": "0",
        "log.cleaner.threads": "0",
        "max.connections.per.ip": "0",
        "max.connections.per.ip.overrides": "a b:1",
        "principal.builder.class": "java.lang.String",
    }
    for first, second in combinations(wrong, 2):
        changes = [(key, SET, wrong[key]) for key in (first, second)]
        probe.exchange(incremental((BROKER, "1", changes), validate_only=True), 1, note=f"{first}, {second}")


@case(releases=("4.3.1",))
def assignment_intervals_of_groups(probe: Probe) -> None:
    intervals = [f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams")]
    for name in ("1", ""):
        for key in intervals:
            for value in ("0", "-1", "15000", "15001"):
                request = incremental((BROKER, name, [(key, SET, value)]), validate_only=True)
                probe.exchange(request, 1, note=f"{key}={value} of {name!r}")
        too_long = [(key, SET, "15001") for key in reversed(intervals)]
        for changes in (too_long, too_long[:2], [*too_long[:1], ("log.roll.ms", SET, "0"), (THREADS, SET, "100")]):
            request = incremental((BROKER, name, changes), validate_only=True)
            probe.exchange(request, 1, note=f"{[each[0] for each in changes]} of {name!r}")


@case()
def unknown_names(probe: Probe) -> None:
    for key in ("no.such.config", "", "NUM.IO.THREADS", " num.io.threads", "retention.ms", "listener.name.plaintext.x"):
        for name in ("1", ""):
            request = incremental((BROKER, name, [(key, SET, "8")]), validate_only=True)
            probe.exchange(request, 1, note=f"{key} of {name!r}")
    probe.exchange(incremental((BROKER, "1", [("no.such.config", DELETE, None)])), 1)


@case()
def a_name_of_ones_own(probe: Probe) -> None:
    with unchanged_after(probe, BROKER, "1", "my.own"), unchanged_after(probe, BROKER, "", "my.own"):
        probe.exchange(incremental((BROKER, "1", [("my.own", SET, "secret")])), 1)
        await_source(probe, BROKER, "1", "my.own", 2)
        for version in (1, 4):
            probe.exchange(describe((BROKER, "1", ["my.own"]), synonyms=True, documentation=True), version)
        probe.exchange(incremental((BROKER, "", [("my.own", SET, "other")])), 1)
        await_source(probe, BROKER, "", "my.own", 3)
        probe.exchange(describe((BROKER, "", ["my.own"]), synonyms=True), 4)
        probe.exchange(describe((BROKER, "1", ["my.own"]), synonyms=True), 4)


@case()
def a_listener_of_its_own(probe: Probe) -> None:
    key = "listener.name.plaintext.max.connections"
    with unchanged_after(probe, BROKER, "1", key):
        probe.exchange(incremental((BROKER, "1", [(key, SET, "100")])), 1)
        await_source(probe, BROKER, "1", key, 2)
        probe.exchange(describe((BROKER, "1", [key, "max.connections"]), synonyms=True), 4)


@case()
def a_password(probe: Probe) -> None:
    key = "listener.name.elsewhere.ssl.keystore.password"
    with unchanged_after(probe, BROKER, "1", key):
        probe.exchange(incremental((BROKER, "1", [(key, SET, "secret")])), 1)
        await_source(probe, BROKER, "1", key, 2)
        for version in (1, 4):
            probe.exchange(describe((BROKER, "1", [key, "ssl.keystore.password"]), synonyms=True), version)


@case()
def the_least_in_sync(probe: Probe) -> None:
    key = "min.insync.replicas"
    for name, operation, value in (
        ("1", SET, "1"),
        ("1", DELETE, None),
        ("", DELETE, None),
        ("", SET, "2"),
        ("", SET, "0"),
        ("", SET, "x"),
        ("1", SET, "0"),
    ):
        request = incremental((BROKER, name, [(key, operation, value)]), validate_only=True)
        probe.exchange(request, 1, note=f"{name} {operation} {value}")
    probe.exchange(describe((BROKER, "", [key]), (BROKER, "1", [key]), synonyms=True), 4)


@case()
def validate_only(probe: Probe) -> None:
    for name in ("1", ""):
        probe.exchange(incremental((BROKER, name, [("compression.type", SET, "lz4")]), validate_only=True), 1)
    probe.exchange(describe((BROKER, "1", ["compression.type"]), (BROKER, ""), synonyms=True), 4)


@case()
def several_at_once(probe: Probe) -> None:
    topic = probe.topic()
    key = "log.cleaner.min.cleanable.ratio"
    with unchanged_after(probe, BROKER, "1", key), unchanged_after(probe, BROKER, "", key):
        probe.exchange(
            incremental(
                (BROKER, "1", [(key, SET, "0.25")]),
                (BROKER, "", [(key, SET, "0.75")]),
                (BROKER, "2", [(key, SET, "0.25")]),
                (TOPIC, topic, [("min.cleanable.dirty.ratio", SET, "0.125")]),
                (BROKER_LOGGER, "1", [("no.such.logger", SET, "INFO")]),
            ),
            1,
        )
        await_value(probe, BROKER, "", key, "0.75")
        await_value(probe, BROKER, "1", key, "0.25")
        probe.exchange(describe((TOPIC, topic, ["min.cleanable.dirty.ratio"]), synonyms=True), 4)


@case()
def everything_of_the_broker_after_a_change(probe: Probe) -> None:
    with unchanged_after(probe, BROKER, "1", "log.cleaner.backoff.ms", "message.max.bytes"):
        changes: list[Change] = [("log.cleaner.backoff.ms", SET, "14000"), ("message.max.bytes", SET, "1500000")]
        probe.exchange(incremental((BROKER, "1", changes)), 1)
        await_value(probe, BROKER, "1", "message.max.bytes", "1500000")
        probe.exchange(describe((BROKER, "1"), synonyms=True), 4, only=of_any_machine)
        probe.exchange(describe((BROKER, "")), 4)


@case()
def loggers(probe: Probe) -> None:
    for name, changes in (
        ("1", [("root", SET, "LOUD")]),
        ("1", [("root", SET, "info")]),
        ("1", [("root", SET, "")]),
        ("1", [("root", DELETE, None)]),
        ("1", [("root", APPEND, "INFO")]),
        ("1", [("root", SUBTRACT, "INFO")]),
        ("1", [("root", 9, "INFO")]),
        ("1", [("no.such.logger", SET, "INFO")]),
        ("1", [("no.such.logger", DELETE, None)]),
        ("1", [("no.such.logger", SET, "LOUD")]),
        ("1", [("", SET, "INFO")]),
        ("1", []),
        ("2", [("root", SET, "INFO")]),
        ("", [("root", SET, "INFO")]),
        ("x", [("root", SET, "INFO")]),
        ("2", [("no.such.logger", SET, "LOUD")]),
        ("1", [("root", SET, "WARN"), ("no.such.logger", SET, "INFO")]),
    ):
        for validated in (False, True):
            request = incremental((BROKER_LOGGER, name, changes), validate_only=validated)
            probe.exchange(request, 1, note=f"{name} {changes} {validated}")


@case()
def a_louder_logger(probe: Probe) -> None:
    # Of which loggers there are, and how loud they are, the logging of a broker decides: one that each release has.
    name = "kafka.server.KafkaApis" if probe.release == "3.7.2" else "org.apache.kafka.server.logger.LoggingController"
    for level in ("DEBUG", "TRACE", "FATAL", "WARN", "INFO"):
        probe.exchange(incremental((BROKER_LOGGER, "1", [(name, SET, level)])), 1, note=level)
        probe.exchange(describe((BROKER_LOGGER, "1", [name])), 4, note=level)
    probe.exchange(incremental((BROKER_LOGGER, "1", [(name, SET, "DEBUG")]), validate_only=True), 1)
    probe.exchange(describe((BROKER_LOGGER, "1", [name]), synonyms=True, documentation=True), 4, note="as before")
    probe.exchange(incremental((BROKER_LOGGER, "1", [(name, DELETE, None)])), 1)
    probe.exchange(incremental((BROKER_LOGGER, "1", [(name, SET, "INFO"), ("no.such.logger", DELETE, None)])), 1)
