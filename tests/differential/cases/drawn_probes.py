"""Differences that `explore` found: one case for each way in which our broker once differed from real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.uuids import ZERO_UUID
from tests.differential.case import case
from tests.differential.cases.alter_partition_reassignments import await_reassigned, send_metadata, send_reassign
from tests.differential.cases.cluster import placed
from tests.differential.cases.create_topics import new, send_create
from tests.differential.cases.create_topics_configs import refused
from tests.differential.cases.describe_configs import BROKER, BROKER_LOGGER, TOPIC, describe
from tests.differential.cases.raft_voters import remove
from tests.differential.cases.telemetry import named
from tests.differential.cases.update_features import to
from tests.differential.config_requests import CLIENT_METRICS, GROUP, SET, Change, incremental
from tests.differential.probe import attempts
from tests.differential.requests import (
    batch,
    fetch,
    fill,
    list_offsets,
    produce,
    produce_all,
    wanted,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NO_SUCH_ID = b"no such topic id"
INT32 = 2**31 - 1
EPOCHS = (0, 1, -1)
SESSION_IDS = (INT32, INT32 - 7, INT32 - 8, 1, -1, -268_435_454, -268_435_455, -INT32 - 1)
"""Ids at the borders of the shards that 4.x has for sessions."""


@case()
def fetch_sessions_out_of_every_shard(probe: Probe) -> None:
    for session in SESSION_IDS:
        for epoch in EPOCHS:
            for version in (7, 12, 16):
                request = fetch(None, session_id=session, session_epoch=epoch)
                probe.exchange(request, version, note=f"session {session}, epoch {epoch}")


def of_topics(*topics: tuple[bytes, list[int]], **fields: Any) -> FetchRequest:
    """A Fetch of partitions by topic id."""
    entries = [
        FetchTopic(topic_id=topic_id, partitions=[wanted(partition=index) for index in partitions])
        for topic_id, partitions in topics
    ]
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=entries, **fields)


@case()
def fetch_sessions_without_a_topic_id(probe: Probe) -> None:
    topic_id = probe.topic_id(probe.topic())
    for version in (13, 16):
        probe.exchange(of_topics((ZERO_UUID, [0]), session_epoch=-1), version, note="without a session")
        probe.exchange(of_topics((ZERO_UUID, [0]), session_epoch=0), version, note="open")
        probe.exchange(of_topics((topic_id, [0]), (ZERO_UUID, [0]), session_epoch=0), version, note="open with another")
        opened = probe.exchange(of_topics((topic_id, [0]), session_epoch=0), version)
        session = opened.session_id
        probe.exchange(of_topics((ZERO_UUID, [1]), session_id=session, session_epoch=1), version, note="added")
        probe.exchange(of_topics(session_id=session, session_epoch=1), version, note="the same epoch again")


@case()
def fetch_unknown_ids_before_unknown_partitions(probe: Probe) -> None:
    topic_id = probe.topic_id(probe.topic())
    entries = ((topic_id, [0, 7]), (NO_SUCH_ID, [0]))
    for version in (13, 16):
        response = probe.exchange(of_topics(*entries), version)
        probe.write(partitions=[[each.partition_index for each in topic.partitions] for topic in response.responses])
        response = probe.exchange(of_topics((NO_SUCH_ID, [1]), (topic_id, [7]), (NO_SUCH_ID, [0])), version)
        probe.write(partitions=[[each.partition_index for each in topic.partitions] for topic in response.responses])


@case()
def fetch_isolation_levels_of_replicas(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for replica in (-1, -2, -3, 1, 9):
        for level in (0, 1, 2, 127, -1):
            request = fetch(topic, wanted(), replica_id=replica, isolation_level=level)
            request.replica_state = ReplicaState(replica_id=replica)
            for version in (4, 12):
                probe.exchange(request, version, note=f"replica {replica}, isolation {level}")


@case()
def fetch_an_empty_topic_name(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for version in range(0 if probe.release == "3.7.2" else 4, 13):
        request = fetch("", wanted(), wanted(partition=3))
        request.topics.append(FetchTopic(topic=topic, partitions=[wanted()]))
        probe.exchange(request, version)


@case()
def list_offsets_duplicates_and_an_unknown_isolation_level(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 1, 0)]
    for replica in (-1, -2, 1):
        request = ListOffsetsRequest(
            replica_id=replica, isolation_level=127, topics=[ListOffsetsTopic(name=topic, partitions=partitions)]
        )
        for version in (2, 7, 8):
            probe.exchange(request, version, note=f"replica {replica}")
        probe.exchange(list_offsets(topic, -1, isolation_level=-1, replica_id=replica), 7)


@case()
def describe_configs_of_an_unknown_type_among_others(probe: Probe) -> None:
    topic = probe.topic(retention_ms=None)
    for unknown in (0, 1, 3, 64, 127, -1, GROUP):
        for known in ((TOPIC, topic), (TOPIC, "a/b"), (BROKER, "x"), (BROKER_LOGGER, "")):
            resources = [(*known, ["retention.ms"]), (unknown, "g", ["no.such"])]
            probe.exchange(describe(*resources), 4, note=f"{known[0]} and {unknown}")
            probe.exchange(describe(*reversed(resources)), 1, note=f"{unknown} and {known[0]}")


@case(releases=("4.3.1",))
def produce_unknown_topic_ids_twice(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    other = b"another such id."
    entries = [
        ("a", 0, batch(b"a")),
        ("b", 0, batch(b"a")),
        (topic, 0, batch(b"a")),
        ("a", 0, batch(b"a")),
        ("a", 1, b""),
    ]
    ids = {"a": NO_SUCH_ID, "b": other, topic: topic_id}
    for acks in (1, -1, 7):
        probe.exchange(produce_all(*entries, topic_ids=ids, acks=acks), 13, note=f"acks {acks}")


@case(releases=("3.7.2",))
def produce_null_records_and_other_faults(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in (3, 6, 9):
        for acks in (-1, 1, 2, -2):
            entries = ((topic, 0, None), (topic, 1, batch(b"a")))
            probe.exchange(produce_all(*entries, acks=acks), version, note=f"acks {acks}")
            probe.exchange(
                produce(topic, None, acks=acks, transactional_id=""), version, note=f"acks {acks}, an empty id"
            )
            probe.exchange(produce(topic, None, acks=acks, transactional_id="t"), version, note=f"acks {acks}, an id")


@case()
def telemetry_of_an_instance_ends_with_its_connection(probe: Probe) -> None:
    instance = probe.name.encode()[-16:]
    request = GetTelemetrySubscriptionsRequest(client_instance_id=instance)
    first = probe.connect()
    probe.exchange(request, 0, on=first, only=named, note="first")
    probe.exchange(request, 0, on=probe.connect(), only=named, note="from another connection")
    first.close()
    if probe.release == "3.7.2":
        probe.exchange(request, 0, on=probe.connect(), only=named, note="after the first is closed")
        return
    for _ in attempts("the instance to be forgotten"):
        response: Any = probe.quiet(request, 0, on=probe.connect())
        if response.error_code == 0:
            return


@case()
def refused_numbers_are_shown_as_they_were_sent(probe: Probe) -> None:
    values = (" ", "  ", " x ", "\tx", "1 000 ", " 99999999999999999999 ", " 1.5")
    for value in values:
        refused(probe, flush_ms=value)
        refused(probe, min_insync_replicas=value)
        refused(probe, min_cleanable_dirty_ratio=value)
        refused(probe, preallocate=value)
    topic = probe.topic()
    probe.exchange(incremental((TOPIC, topic, [("retention.ms", SET, " x ")])), 1)


@case()
def too_many_partitions_of_topics_that_cannot_be_made(probe: Probe) -> None:
    topic = probe.topic()
    for version in (5, 7):
        send_create(probe, version, new(topic, 10_001), new("."), note="one that exists")
        send_create(probe, version, new("a/b", 10_001), new(topic), note="an invalid name")
        send_create(probe, version, new(f"{topic}-2", 10_001, no_such="1"), new(topic), note="an unknown configuration")
        send_create(probe, version, new(f"{topic}-2", 10_001, 9), new(topic), note="too many replicas")
        send_create(
            probe, version, new(f"{topic}-2", 10_001), new(topic), note="one that could be made", validate_only=True
        )


@case()
def features_depend_on_the_metadata_version(probe: Probe) -> None:
    for level in (1, 2, 6, 7, 20):
        updates = (("group.version", 1), ("transaction.version", 2), ("metadata.version", level))
        for kind in (1, 2, 3):
            probe.exchange(to(*updates, kind=kind), 1, note=f"metadata.version {level}, upgrade type {kind}")


@case(releases=("4.3.1",), settings=(("metadata.max.idle.interval.ms", "503"),))
def kraft_version_is_raised_although_a_feature_behind_it_is_refused(probe: Probe) -> None:
    refused_one = ("group.version", 5)
    probe.exchange(to(("kraft.version", 1), refused_one), 1, note="validate only")
    probe.exchange(remove(), 0, note="a static quorum")
    probe.exchange(to(refused_one, ("kraft.version", 1), validate=False), 1, note="refused first")
    probe.exchange(remove(), 0, note="still a static quorum")
    probe.exchange(to(("kraft.version", 1), ("metadata.version", 2), validate=False), 1, note="raised first")
    probe.exchange(to(("kraft.version", 0)), 1, note="not downwards")


@case(brokers=3)
def a_partition_twice_in_a_reassignment(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [1, 2], [1, 2])
    moves: tuple[tuple[list[int], list[int]], ...] = (([2], [1]), ([1], [2]), ([2, 1], [2]))
    for partition, (first, second) in enumerate(moves):
        send_reassign(probe, 0, (topic, [(partition, first), (partition, second)]), note=f"{first}, then {second}")
    expected = [second for _, second in moves]
    await_reassigned(probe, topic, *expected)
    send_metadata(probe, topic)


@case()
def the_first_of_several_unknown_configurations(probe: Probe) -> None:
    """It is the first in a hash table, which is larger for groups: their defaults are in it."""
    topic = probe.topic(retention_ms=None)
    for count in (1, 2, 5, 8, 11, 13, 14, 20):
        changes: list[Change] = [(f"unknown.{number * 37 % 101}", SET, "1") for number in range(count)]
        for kind, name in ((TOPIC, topic), (CLIENT_METRICS, "m"), (GROUP, "g")):
            probe.exchange(incremental((kind, name, changes), validate_only=True), 1, note=f"{count} of type {kind}")
