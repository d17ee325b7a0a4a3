"""IncrementalAlterConfigs, as raw probes see it: topics, groups, client metrics, and what no resource type is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.alter_configs import AlterConfigsRequest
from protocol_specs.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.differential.case import case
from tests.differential.cases.describe_configs import describe
from tests.differential.cases.find_coordinator import GROUP as GROUP_COORDINATOR
from tests.differential.cases.find_coordinator import await_coordinator
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
    await_value,
    incremental,
    legacy,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

RETENTION, POLICY = "retention.ms", "cleanup.policy"


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(IncrementalAlterConfigsRequest):
        probe.exchange(incremental((TOPIC, topic, [(RETENTION, SET, f"10{version}")])), version)
        await_value(probe, TOPIC, topic, RETENTION, f"10{version}")
        probe.exchange(describe((TOPIC, topic, [RETENTION]), synonyms=True), 4)


@case()
def set_and_delete(probe: Probe) -> None:
    topic = probe.topic(segment_ms="7777")
    probe.exchange(incremental((TOPIC, topic, [(RETENTION, SET, "1000"), (POLICY, SET, "compact")])), 1)
    await_value(probe, TOPIC, topic, RETENTION, "1000")
    probe.exchange(describe((TOPIC, topic), synonyms=True), 4)
    probe.exchange(incremental((TOPIC, topic, [(RETENTION, DELETE, None), ("segment.ms", DELETE, "ignored")])), 1)
    await_source(probe, TOPIC, topic, RETENTION, 5)
    probe.exchange(describe((TOPIC, topic), synonyms=True), 4)
    probe.exchange(incremental((TOPIC, topic, [(RETENTION, DELETE, None)])), 1, note="what is not set")
    probe.exchange(incremental((TOPIC, topic, [("no.such.config", DELETE, None)])), 1)
    probe.exchange(incremental((TOPIC, topic, [("", DELETE, None)])), 1)


@case()
def lists_grow_and_shrink(probe: Probe) -> None:
    topic = probe.topic()
    changes = [
        (APPEND, "compact"),
        (APPEND, "compact"),
        (SUBTRACT, "delete"),
        (SUBTRACT, "delete"),
        (APPEND, "delete,compact"),
        (SET, "compact, delete"),
        (SUBTRACT, "delete"),
        (SET, "delete"),
        (SUBTRACT, "compact,none"),
        (APPEND, "none"),
        (APPEND, ""),
        (SUBTRACT, ""),
        (SET, ""),
        (SUBTRACT, "delete"),
        (SET, "delete,delete"),
        (SET, "delete,,compact"),
        (SET, "compact,"),
        (APPEND, "delete,"),
        (APPEND, " delete"),
    ]
    for number, (operation, value) in enumerate(changes):
        note = f"{operation} {value!r}"
        probe.exchange(incremental((TOPIC, topic, [(POLICY, operation, value)])), 1, note=note)
        await_settled(probe, topic, number)
        probe.exchange(describe((TOPIC, topic, [POLICY])), 4, note=note)


def await_settled(probe: Probe, topic: str, number: int) -> None:
    """Wait until everything that was committed is applied: one more change, seen."""
    value = str(1_000_000 + number)
    probe.quiet(incremental((TOPIC, topic, [("flush.ms", SET, value)])), 1)
    await_value(probe, TOPIC, topic, "flush.ms", value)


@case()
def lists_of_replicas(probe: Probe) -> None:
    topic = probe.topic()
    name = "leader.replication.throttled.replicas"
    changes = [
        (APPEND, "0:1"),
        (APPEND, "1:1,0:1"),
        (SUBTRACT, "0:1"),
        (SUBTRACT, "1:1"),
        (APPEND, "*"),
        (APPEND, "0:1"),
        (SET, "x"),
        (SET, "*"),
    ]
    for number, (operation, value) in enumerate(changes):
        note = f"{operation} {value!r}"
        probe.exchange(incremental((TOPIC, topic, [(name, operation, value)])), 1, note=note)
        await_settled(probe, topic, number)
        probe.exchange(describe((TOPIC, topic, [name])), 4, note=note)


@case()
def lists_of_odd_shapes(probe: Probe) -> None:
    topic = probe.topic()
    for kind, name, key, operations in (
        (TOPIC, topic, POLICY, (SET, APPEND)),
        (TOPIC, topic, "follower.replication.throttled.replicas", (SET, APPEND)),
        (CLIENT_METRICS, probe.name, "metrics", (SET,)),
        (CLIENT_METRICS, probe.name, "match", (SET,)),
    ):
        for operation in operations:
            for value in (",", ",,", "0:1,,1:1", "0:1,0:1", " 0:1 , 1:1 ", "delete,,", "compact,compact", "*,*"):
                request = incremental((kind, name, [(key, operation, value)]), validate_only=True)
                probe.exchange(request, 1, note=f"{kind} {key} {operation} {value!r}")


@case()
def what_is_no_list(probe: Probe) -> None:
    topic = probe.topic()
    for operation in (APPEND, SUBTRACT):
        for name in (RETENTION, "compression.type", "preallocate", "no.such.config", ""):
            probe.exchange(incremental((TOPIC, topic, [(name, operation, "1")])), 1, note=f"{operation} {name}")


@case()
def unknown_operations(probe: Probe) -> None:
    topic = probe.topic()
    for operation in (-128, -1, 4, 9, 127):
        for kind, name, key in (
            (TOPIC, topic, RETENTION),
            (BROKER, "1", "log.cleaner.threads"),
            (BROKER, "", "log.cleaner.threads"),
            (BROKER_LOGGER, "1", "root"),
            (CLIENT_METRICS, probe.name, "interval.ms"),
        ):
            probe.exchange(incremental((kind, name, [(key, operation, "1")])), 1, note=f"{operation} {kind} {name}")
    probe.exchange(
        incremental((TOPIC, topic, [(RETENTION, 9, "1")]), (TOPIC, f"{probe.name}-none", [(RETENTION, SET, "1")])), 1
    )
    probe.exchange(
        incremental((TOPIC, topic, [(RETENTION, 9, "1")]), (BROKER, "2", [("log.cleaner.threads", SET, "1")])), 1
    )


@case()
def the_same_key_twice(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(IncrementalAlterConfigsRequest):
        probe.exchange(incremental((TOPIC, topic, [(RETENTION, SET, "1"), (RETENTION, SET, "2")])), version)
        probe.exchange(incremental((TOPIC, topic, [(RETENTION, SET, "1"), (RETENTION, DELETE, None)])), version)
        probe.exchange(incremental((TOPIC, topic, [("a", SET, None), ("a", DELETE, None)])), version)
        probe.exchange(incremental((TOPIC, f"{probe.name}-none", [("a", SET, "1"), ("a", SET, "1")])), version)
    for kind, name in ((BROKER, "1"), (BROKER, "2"), (BROKER_LOGGER, "1"), (CLIENT_METRICS, "x"), (99, "x")):
        probe.exchange(incremental((kind, name, [("a", SET, "1"), ("a", SET, "2")])), 1, note=f"{kind} {name}")


@case()
def null_values(probe: Probe) -> None:
    topic = probe.topic()
    for operation in (SET, DELETE, APPEND, SUBTRACT, 9):
        probe.exchange(incremental((TOPIC, topic, [(POLICY, operation, None)])), 1, note=str(operation))
    probe.exchange(
        incremental((TOPIC, topic, [(RETENTION, SET, None), ("a", DELETE, None), (POLICY, APPEND, None)])), 1
    )
    for kind, name in ((BROKER, "1"), (BROKER, "2"), (BROKER_LOGGER, "1"), (CLIENT_METRICS, "x"), (99, "x")):
        probe.exchange(incremental((kind, name, [("a", SET, None)])), 1, note=f"{kind} {name}")


@case()
def unknown_names(probe: Probe) -> None:
    topic = probe.topic()
    for names in (
        ["no.such.config"],
        [""],
        ["RETENTION.MS"],
        [" retention.ms"],
        ["log.retention.ms"],
        ["no.such.config", "neither.this", "nor.that"],
        [RETENTION, "no.such.config"],
        ["internal.segment.bytes"],
        ["message.format.version"],
        ["message.timestamp.difference.max.ms"],
        ["message.downconversion.enable"],
    ):
        probe.exchange(
            incremental((TOPIC, topic, [(each, SET, "1000") for each in names]), validate_only=True),
            1,
            note=str(names),
        )


@case()
def the_unknown_name_that_is_named(probe: Probe) -> None:
    """The table of a topic's configurations grows with the 12th in 3.7, with the 13th in 4.3."""
    own = {"compression.type": "gzip", "preallocate": "true", "flush.ms": "5", "flush.messages": "5"}
    topic = probe.topic(**{name.replace(".", "_"): value for name, value in own.items()})
    for unknown in (
        ["foo", "y", "log.dirs", "flush"],
        ["foo", "y", "log.dirs", "flush", "bar", "x"],
        ["foo", "y", "log.dirs", "flush", "bar", "x", "zz9"],
        ["foo", "y", "log.dirs", "flush", "bar", "x", "zz9", "aa", "BaR", "listeners"],
    ):
        changes = [(name, SET, "1") for name in unknown]
        probe.exchange(incremental((TOPIC, topic, changes)), 1, note=f"{len(own)} and {len(unknown)} names")
        probe.exchange(legacy((TOPIC, topic, [(name, "1") for name in unknown])), 2, note=f"{len(unknown)} names")
    many = [f"unknown.{number}" for number in range(11)]
    for count in (11, 12, 13, 24):
        names = [f"name{7 * number}" for number in range(count)]
        probe.exchange(
            incremental((TOPIC, topic, [(name, SET, "1") for name in [*names, *many]])), 1, note=f"{count}+11"
        )


@case()
def values_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic()
    for name, value in (
        (RETENTION, "x"),
        (RETENTION, ""),
        (RETENTION, " 12 "),
        (RETENTION, "-2"),
        (RETENTION, "-1"),
        (RETENTION, "9223372036854775808"),
        (RETENTION, "1.5"),
        ("segment.bytes", "13"),
        ("segment.bytes", "2147483648"),
        ("segment.ms", "0"),
        (POLICY, "shred"),
        ("compression.type", "brotli"),
        ("compression.type", "GZIP"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "half"),
        ("min.insync.replicas", "0"),
        ("min.insync.replicas", "100"),
        ("preallocate", "yes"),
        ("preallocate", "TRUE"),
        ("message.timestamp.type", "now"),
        ("max.message.bytes", "-1"),
        ("remote.storage.enable", "true"),
        ("min.compaction.lag.ms", "9223372036854775807"),
        ("max.compaction.lag.ms", "0"),
        ("local.retention.ms", "-3"),
        ("unclean.leader.election.enable", "perhaps"),
        ("follower.replication.throttled.replicas", "0-1"),
        ("retention.bytes", "1e6"),
        ("flush.messages", "0"),
        ("index.interval.bytes", "-1"),
    ):
        request = incremental((TOPIC, topic, [(name, SET, value)]), validate_only=True)
        probe.exchange(request, 1, note=f"{name}={value}")


@case()
def values_that_conflict(probe: Probe) -> None:
    topic = probe.topic(max_compaction_lag_ms="1000")
    for changes in (
        [("min.compaction.lag.ms", SET, "1001")],
        [("min.compaction.lag.ms", SET, "1001"), ("max.compaction.lag.ms", SET, "1001")],
        [("min.compaction.lag.ms", SET, "1001"), ("max.compaction.lag.ms", DELETE, None)],
        [(RETENTION, SET, "x"), ("no.such.config", SET, "1")],
        [("retention.bytes", SET, "x"), (RETENTION, SET, "x")],
    ):
        probe.exchange(incremental((TOPIC, topic, changes), validate_only=True), 1, note=str(changes))


@case()
def topics_that_are_not_there(probe: Probe) -> None:
    for name in (f"{probe.name}-none", "", "a b", ".", "x" * 250, "__cluster_metadata"):
        for key, value in ((RETENTION, "1"), (RETENTION, "x"), ("no.such.config", "1")):
            probe.exchange(incremental((TOPIC, name, [(key, SET, value)])), 1, note=f"{name[:20]} {key} {value}")
        probe.exchange(incremental((TOPIC, name, [])), 1, note=f"{name[:20]} nothing")
        probe.exchange(incremental((TOPIC, name, [(RETENTION, DELETE, None)])), 1, note=f"{name[:20]} delete")
        probe.exchange(incremental((TOPIC, name, [(RETENTION, APPEND, "1")])), 1, note=f"{name[:20]} append")


@case()
def validate_only(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    for version in all_versions(IncrementalAlterConfigsRequest):
        for change in ((RETENTION, SET, "1000"), (RETENTION, SET, "x"), (POLICY, APPEND, "compact")):
            probe.exchange(incremental((TOPIC, topic, [change]), validate_only=True), version, note=str(change))
    await_settled(probe, topic, 0)
    probe.exchange(describe((TOPIC, topic, [RETENTION, POLICY])), 4)
    probe.exchange(incremental((TOPIC, f"{probe.name}-none", [(RETENTION, SET, "1")]), validate_only=True), 1)


@case()
def nothing(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(IncrementalAlterConfigsRequest):
        probe.exchange(incremental(), version)
        probe.exchange(incremental((TOPIC, topic, [])), version)
        probe.exchange(incremental((BROKER, "", [])), version)
        probe.exchange(incremental((BROKER, "1", [])), version)


@case()
def several_resources(probe: Probe) -> None:
    first, second = probe.topic("a", retention_ms=None), probe.topic("b", retention_ms=None)
    none = f"{probe.name}-none"
    good, bad = [(RETENTION, SET, "1000")], [(RETENTION, SET, "x")]
    probe.exchange(incremental((TOPIC, first, good), (TOPIC, none, good), (TOPIC, second, bad), (BROKER, "2", bad)), 1)
    await_value(probe, TOPIC, first, RETENTION, "1000")
    probe.exchange(describe((TOPIC, first, [RETENTION]), (TOPIC, second, [RETENTION])), 4)


@case()
def the_same_resource_twice(probe: Probe) -> None:
    topic, other = probe.topic("a", retention_ms=None), probe.topic("b", retention_ms=None)
    good = [(RETENTION, SET, "1000")]
    probe.exchange(incremental((TOPIC, topic, good), (TOPIC, topic, good)), 1)
    probe.exchange(incremental((TOPIC, topic, good), (TOPIC, topic, [("segment.ms", SET, "5")]), (TOPIC, topic, [])), 0)
    probe.exchange(incremental((TOPIC, topic, good), (TOPIC, other, good), (TOPIC, topic, good)), 1)
    probe.exchange(incremental((99, topic, good), (99, topic, good), (TOPIC, other, good)), 1)
    probe.exchange(incremental((CLIENT_METRICS, topic, good), (TOPIC, topic, [])), 1, note="one name, two types")
    await_value(probe, TOPIC, other, RETENTION, "1000")
    probe.exchange(describe((TOPIC, topic, [RETENTION]), (TOPIC, other, [RETENTION])), 4)


@case()
def unknown_resource_types(probe: Probe) -> None:
    for kind in (-128, -1, 0, 1, 3, 5, 6, 64, 99, 127):
        for name in ("x", ""):
            probe.exchange(incremental((kind, name, [("a", SET, "1")])), 1, note=f"{kind} {name}")
    probe.exchange(incremental((99, "x", [("a", SET, "1")]), validate_only=True), 0)


@case()
def an_internal_topic(probe: Probe) -> None:
    await_coordinator(probe, GROUP_COORDINATOR)
    probe.exchange(incremental((TOPIC, "__consumer_offsets", [(RETENTION, SET, "1000")]), validate_only=True), 1)
    probe.exchange(incremental((TOPIC, "__consumer_offsets", [(POLICY, SET, "delete")]), validate_only=True), 1)


@case()
def client_metrics(probe: Probe) -> None:
    name = probe.name
    for changes in (
        [("interval.ms", SET, "99")],
        [("interval.ms", SET, "100")],
        [("interval.ms", SET, "3600000")],
        [("interval.ms", SET, "3600001")],
        [("interval.ms", SET, "x")],
        [("metrics", SET, "org.apache.kafka.producer.,org.apache.kafka.consumer.")],
        [("metrics", SET, "*")],
        [("metrics", SET, "")],
        [("metrics", APPEND, "a")],
        [("interval.ms", APPEND, "1")],
        [("match", SET, "client_id=.*")],
        [("match", SET, "client_id")],
        [("match", SET, "client_id=a=b")],
        [("match", SET, "missing=x")],
        [("match", SET, "client_id=[")],
        [("match", SET, "client_id=a,client_source_port=1")],
        [("match", SET, "")],
        [("no.such.config", SET, "1")],
        [("interval.ms", DELETE, None)],
        [],
    ):
        for version in all_versions(IncrementalAlterConfigsRequest):
            request = incremental((CLIENT_METRICS, name, changes), validate_only=True)
            probe.exchange(request, version, note=str(changes))
    probe.exchange(incremental((CLIENT_METRICS, "", [("interval.ms", SET, "1000")])), 1)
    probe.exchange(incremental((CLIENT_METRICS, "a b", [("interval.ms", SET, "1000")]), validate_only=True), 1)


@case()
def client_metrics_are_kept(probe: Probe) -> None:
    name = probe.name
    probe.exchange(incremental((CLIENT_METRICS, name, [("interval.ms", SET, "1000"), ("metrics", SET, "a,b")])), 1)
    await_value(probe, CLIENT_METRICS, name, "interval.ms", "1000")
    for version in (1, 4):
        probe.exchange(describe((CLIENT_METRICS, name), synonyms=True, documentation=True), version)
    probe.exchange(describe((CLIENT_METRICS, name, ["metrics"])), 4)
    probe.exchange(incremental((CLIENT_METRICS, name, [("metrics", SET, "b"), ("match", SET, "client_id=x")])), 1)
    await_value(probe, CLIENT_METRICS, name, "metrics", "b")
    probe.exchange(describe((CLIENT_METRICS, name), synonyms=True), 4)
    removed = [(each, DELETE, None) for each in ("interval.ms", "metrics", "match")]
    probe.exchange(incremental((CLIENT_METRICS, name, removed)), 1)
    gone = None if probe.release == "3.7.2" else "300000"
    await_value(probe, CLIENT_METRICS, name, "interval.ms", gone)
    probe.exchange(describe((CLIENT_METRICS, name), synonyms=True), 4)


@case()
def groups(probe: Probe) -> None:
    name = probe.name
    for changes in (
        [("consumer.session.timeout.ms", SET, "45000")],
        [("consumer.session.timeout.ms", SET, "1")],
        [("consumer.session.timeout.ms", SET, "0")],
        [("consumer.session.timeout.ms", SET, "x")],
        [("consumer.session.timeout.ms", SET, "1000000")],
        [("consumer.session.timeout.ms", APPEND, "1")],
        [("consumer.heartbeat.interval.ms", SET, "1")],
        [("consumer.heartbeat.interval.ms", SET, "100000")],
        [("consumer.heartbeat.interval.ms", SET, "15000")],
        [("consumer.heartbeat.interval.ms", SET, "45000"), ("consumer.session.timeout.ms", SET, "45000")],
        [("share.session.timeout.ms", SET, "1")],
        [("share.session.timeout.ms", SET, "1000000")],
        [("share.heartbeat.interval.ms", SET, "1")],
        [("share.heartbeat.interval.ms", SET, "1000000")],
        [("share.heartbeat.interval.ms", SET, "15000"), ("share.session.timeout.ms", SET, "45000")],
        [("share.record.lock.duration.ms", SET, "999")],
        [("share.record.lock.duration.ms", SET, "14999")],
        [("share.record.lock.duration.ms", SET, "60001")],
        [("share.auto.offset.reset", SET, "earliest")],
        [("share.auto.offset.reset", SET, "by_duration:PT1H")],
        [("share.auto.offset.reset", SET, "by_duration:nonsense")],
        [("share.auto.offset.reset", SET, "none")],
        [("share.isolation.level", SET, "read_committed")],
        [("share.isolation.level", SET, "x")],
        [("share.delivery.count.limit", SET, "1")],
        [("share.delivery.count.limit", SET, "2")],
        [("share.delivery.count.limit", SET, "100")],
        [("share.partition.max.record.locks", SET, "99")],
        [("share.partition.max.record.locks", SET, "100")],
        [("share.partition.max.record.locks", SET, "1000000")],
        [("share.renew.acknowledge.enable", SET, "x")],
        [("streams.session.timeout.ms", SET, "1")],
        [("streams.session.timeout.ms", SET, "1000000")],
        [("streams.heartbeat.interval.ms", SET, "1")],
        [("streams.heartbeat.interval.ms", SET, "1000000")],
        [("streams.num.standby.replicas", SET, "3")],
        [("streams.num.standby.replicas", SET, "-1")],
        [("streams.initial.rebalance.delay.ms", SET, "-1")],
        [("streams.initial.rebalance.delay.ms", SET, "0")],
        [("consumer.assignment.interval.ms", SET, "-1")],
        [("consumer.assignment.interval.ms", SET, "1000000")],
        [("share.assignment.interval.ms", SET, "1000000")],
        [("streams.assignment.interval.ms", SET, "1000000")],
        [("no.such.config", SET, "1")],
        [("consumer.session.timeout.ms", DELETE, None)],
        [],
    ):
        probe.exchange(incremental((GROUP, name, changes), validate_only=True), 1, note=str(changes))
    probe.exchange(incremental((GROUP, "", [("consumer.session.timeout.ms", SET, "46000")])), 1)


@case(releases=("4.3.1",))
def groups_are_kept(probe: Probe) -> None:
    name = probe.name
    changes = [("consumer.session.timeout.ms", SET, "46000"), ("share.isolation.level", SET, "read_committed")]
    probe.exchange(incremental((GROUP, name, changes)), 1)
    await_value(probe, GROUP, name, "consumer.session.timeout.ms", "46000")
    for version in (1, 4):
        probe.exchange(describe((GROUP, name), synonyms=True, documentation=True), version)
    removed = [(each, DELETE, None) for each, _, _ in changes]
    probe.exchange(incremental((GROUP, name, removed)), 1)
    await_value(probe, GROUP, name, "consumer.session.timeout.ms", "45000")
    probe.exchange(describe((GROUP, name), synonyms=True), 4)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff\xff\xff\0", "null resources"),
        (0, b"\0\0\0\1\2\xff\xff\0\0\0\0\0", "null name"),
        (0, b"\0\0\0\1\2\0\1t\xff\xff\xff\xff\0", "null configs"),
        (0, b"\0\0\0\1\2\0\1t\0\0\0\1\xff\xff\0\xff\xff\0", "a null key"),
        (0, b"\0\0\0\0\0more", "more bytes"),
        (0, b"\0\0\0\0", "no flag"),
        (1, b"\0\0\0", "null resources"),
        (1, b"\1\2\0", "a flag of 2"),
    ):
        probe.raw_body(44, version, body, note=note)


@case(releases=("4.3.1",))
def groups_changed_in_odd_ways(probe: Probe) -> None:
    name = probe.name
    key = "consumer.session.timeout.ms"
    for version in all_versions(IncrementalAlterConfigsRequest):
        for changes in (
            [(key, SET, "50000"), (key, SET, "51000")],
            [(key, SET, None)],
            [(key, SET, "")],
            [(key, SET, " 50000 ")],
            [(key, SET, "50000.0")],
            [(key, SET, "99999999999")],
            [(key, APPEND, "1")],
            [(key, SUBTRACT, "1")],
            [(key, 9, "1")],
            [(key, DELETE, "1")],
            [("", SET, "1")],
            [("share.renew.acknowledge.enable", SET, "TRUE")],
            [("share.auto.offset.reset", SET, "LATEST")],
            [("share.auto.offset.reset", SET, "by_duration:P1D")],
            [("share.auto.offset.reset", SET, "by_duration:-P1D")],
            [("share.auto.offset.reset", SET, "by_duration:")],
            [("share.isolation.level", SET, "READ_COMMITTED")],
            [("share.isolation.level", APPEND, "x")],
            [("consumer.heartbeat.interval.ms", SET, "15000"), (key, DELETE, None)],
        ):
            probe.exchange(incremental((GROUP, name, changes), validate_only=True), version, note=str(changes))
    for resources in (
        ((GROUP, name, [(key, SET, "50000")]), (GROUP, name, [(key, SET, "50000")])),
        ((GROUP, "", [(key, SET, "50000")]), (GROUP, name, [(key, SET, "1")]), (TOPIC, "none", [("x", SET, "1")])),
    ):
        probe.exchange(incremental(*resources, validate_only=True), 1, note=str(len(resources)))
    for version in all_versions(AlterConfigsRequest):
        for values in (
            [(key, "50000")],
            [(key, None)],
            [(key, "x")],
            [],
            [("unknown", "1")],
            [(key, "50000"), (key, "51000")],
        ):
            probe.exchange(legacy((GROUP, name, values), validate_only=True), version, note=str(values))
        probe.exchange(legacy((GROUP, "", [(key, "50000")])), version, note="no name")


@case(releases=("4.3.1",))
def several_wrong_values_of_a_group(probe: Probe) -> None:
    name = f"{probe.name}-g"
    for changes in (
        {"streams.assignment.interval.ms": "3.5", "streams.heartbeat.interval.ms": "0"},
        {"share.isolation.level": "x", "share.session.timeout.ms": "x"},
        {"share.assignment.interval.ms": "x", "share.renew.acknowledge.enable": "x", "share.auto.offset.reset": "x"},
        {"consumer.assignment.interval.ms": "x", "consumer.session.timeout.ms": "x"},
        {"share.assignment.interval.ms": "999999999", "share.record.lock.duration.ms": "1000"},
        {"share.assignment.interval.ms": "999999999", "streams.heartbeat.interval.ms": "1"},
        {"share.partition.max.record.locks": "100", "share.delivery.count.limit": "1000"},
        {"streams.num.standby.replicas": "99", "streams.assignment.interval.ms": "999999999"},
        {"consumer.heartbeat.interval.ms": "1", "consumer.session.timeout.ms": "1", "unknown": "x"},
    ):
        request = incremental((GROUP, name, [(key, SET, value) for key, value in changes.items()]), validate_only=True)
        probe.exchange(request, 1, note=str(list(changes)))
