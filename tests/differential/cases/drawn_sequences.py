"""Differences that drawn sequences of requests have found: a request goes wrong because of an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.fetch import ForgottenTopic
from tests.differential.case import case
from tests.differential.cases.alter_partition_reassignments import await_reassigned, reassign
from tests.differential.cases.client_quotas import settle
from tests.differential.cases.cluster import placed
from tests.differential.cases.controller_listener import controller
from tests.differential.cases.create_topics import new, send_create
from tests.differential.cases.delete_records import before
from tests.differential.cases.elect_leaders import await_leader
from tests.differential.cases.fetch_sessions import open_session
from tests.differential.config_requests import (
    APPEND,
    BROKER,
    SET,
    SUBTRACT,
    TOPIC,
    await_value,
    incremental,
    legacy,
)
from tests.differential.probe import attempts
from tests.differential.requests import TIME_MS, batch, fetch, fill, list_offsets, metadata, produce, timed, wanted

if TYPE_CHECKING:
    from tests.differential.config_requests import Change
    from tests.differential.probe import Probe

BY_ID = 16


def delete(probe: Probe, topic: str) -> None:
    """Delete a topic; wait until the broker no longer knows it."""
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    for _ in attempts(f"{topic} to be gone"):
        response: Any = probe.quiet(metadata(topic), 12)
        if response.topics[0].error_code:
            return


@case()
def sessions_keep_the_names_of_topics_that_go(probe: Probe) -> None:
    topic = probe.topic()
    other = probe.topic("u")
    topic_id, other_id = probe.topic_id(topic), probe.topic_id(other)
    fill(probe, topic, batch(b"a"))
    session = open_session(probe, topic, wanted(), wanted(partition=1), version=BY_ID, topic_id=topic_id)
    late = open_session(probe, other, wanted(), version=BY_ID, topic_id=other_id)
    delete(probe, topic)
    probe.exchange(fetch(None, session_id=session, session_epoch=1), BY_ID, note="deleted")
    again = fetch(topic, wanted(), wanted(partition=2), topic_id=topic_id, session_id=session, session_epoch=2)
    probe.exchange(again, BY_ID, note="fetched by id again, and another partition of it")
    probe.exchange(
        fetch(topic, wanted(), topic_id=topic_id, session_id=late, session_epoch=1), BY_ID, note="never known"
    )
    probe.exchange(fetch(topic, wanted(), topic_id=topic_id), BY_ID, note="without a session")
    probe.topic()
    probe.exchange(fetch(None, session_id=session, session_epoch=3), BY_ID, note="another of its name")
    probe.exchange(fetch(None, session_id=late, session_epoch=2), BY_ID, note="another of a name that was never known")
    forget = [ForgottenTopic(topic=topic, topic_id=topic_id, partitions=[0])]
    forgets = fetch(None, session_id=session, session_epoch=4, forgotten=forget)
    probe.exchange(forgets, BY_ID, note="0 is forgotten")
    back = fetch(topic, wanted(), topic_id=topic_id, session_id=session, session_epoch=5)
    probe.exchange(back, BY_ID, note="0 comes back without a name")


@case()
def sessions_of_several_versions_diverge(probe: Probe) -> None:
    a_session_in_several_versions(probe)


@case()
def sessions_of_several_versions_diverge_where_there_are_quotas(probe: Probe) -> None:
    entity = (("client-id", probe.name),)
    settle(probe, {entity: {"consumer_byte_rate": 1e9}})
    a_session_in_several_versions(probe)
    settle(probe, {entity: {}})


def a_session_in_several_versions(probe: Probe) -> None:
    """Versions before 12 have no field for an epoch that the session keeps from a later version."""
    topic = probe.topic(partitions=2)
    fill(probe, topic, batch(b"a"), batch(b"b"))
    fill(probe, topic, batch(b"c"), partition=1)
    far = wanted(9, last_fetched_epoch=0)
    for isolation in (0, 1):
        session = open_session(probe, topic, wanted(partition=1), far, isolation_level=isolation)
        for epoch, version in enumerate((7, 11, 12, 9), 1):
            probe.exchange(fetch(None, session_id=session, session_epoch=epoch), version)
        fill(probe, topic, batch(b"d"), partition=1)
        probe.exchange(fetch(topic, wanted(3, partition=1), session_id=session, session_epoch=5), 9, note="news of 1")
        probe.exchange(
            fetch(None, session_id=session, session_epoch=6), 12, note="the same in a version that has the field"
        )
        moved = fetch(topic, wanted(1), session_id=session, session_epoch=7)
        probe.exchange(moved, 9, note="the epoch is no longer requested")


@case()
def records_are_deleted_of_topics_without_a_policy(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"), batch(b"b"))
    probe.exchange(incremental((TOPIC, topic, [("cleanup.policy", SUBTRACT, "delete")])), 1)
    await_value(probe, TOPIC, topic, "cleanup.policy", "")
    for offset in (1, 9, -1, -2):
        send_delete_records(probe, topic, offset)
    probe.exchange(incremental((TOPIC, topic, [("cleanup.policy", SET, "compact")])), 1)
    # A broker describes the new value before its logs apply it.
    for _ in attempts(f"the log of {topic} to be compacted"):
        response: Any = probe.quiet(before(topic, (0, 1)), 2)
        if response.topics[0].partitions[0].error_code:
            break
    send_delete_records(probe, topic, 1)


def send_delete_records(probe: Probe, topic: str, offset: int) -> None:
    """Delete the records before an offset of a topic's first partition."""
    probe.exchange(before(topic, (0, offset)), 2, note=f"before {offset}")


@case(brokers=3)
def partitions_are_added_where_factors_differ(probe: Probe) -> None:
    """New partitions have the factor of whichever a hash table lists first, which is seldom partition 0."""
    for count in (3, 5, 6):
        topic, _ = placed(probe, f"of{count}", *[[1]] * count)
        for partition in range(count):
            moved = [[1, 2] if each == partition else [1] for each in range(count)]
            probe.quiet(reassign((topic, {partition: [1, 2], partition - 1: [1]} if partition else {0: [1, 2]})), 0)
            await_reassigned(probe, topic, *moved)
            for replicas in ([1], [2, 1]):
                assignments = [CreatePartitionsAssignment(broker_ids=replicas)]
                more = CreatePartitionsTopic(name=topic, count=count + 1, assignments=assignments)
                request = CreatePartitionsRequest(topics=[more], timeout_ms=5_000, validate_only=True)
                probe.exchange(request, 3, note=f"two replicas of {partition}, new ones on {replicas}")


@case()
def the_controller_appends_nothing(probe: Probe) -> None:
    """Brokers let no such request through. What is no list is refused before the value is looked at."""
    for kind, name in ((TOPIC, probe.topic()), (TOPIC, "missing"), (BROKER, "1"), (BROKER, "")):
        for operation in (APPEND, SUBTRACT):
            request = incremental((kind, name, [("flush.ms", operation, None)]))
            probe.exchange(request, 1, on=controller(probe), note=f"{operation} of type {kind}")


@case()
def the_controller_sends_no_response_for_unknown_types_alike(probe: Probe) -> None:
    topic = probe.topic()
    configs: list[tuple[str, str | None]] = [("retention.ms", "1000")]
    changes: list[Change] = [("retention.ms", SET, "1000")]
    for kinds in ((99, 98), (99, 99), (99, TOPIC, 98)):
        alike = legacy(*[(kind, topic, configs) for kind in kinds])
        probe.expect_silence(alike, 1, on=controller(probe), note=str(kinds))
        probe.exchange(
            incremental(*[(kind, topic, changes) for kind in kinds]), 1, on=controller(probe), note=str(kinds)
        )
    apart = legacy((99, topic, configs), (98, f"{topic}-2", configs))
    probe.exchange(apart, 1, on=controller(probe), note="of two names")


@case(releases=("3.7.2",))
def controlled_shutdowns_without_a_client_id(probe: Probe) -> None:
    """Version 0 has no client id in its header, also after other requests."""
    for body in (b"\0\0\0\x63", b"\0\0\0\x63", b"\0\5probe", b"\0\0\0", b"\0\0\0\0\0"):
        probe.raw_body(7, 0, body, header=b"", note=body.hex(), listener="CONTROLLER")
    probe.raw_body(7, 1, b"\0\0\0\x63", note="version 1", listener="CONTROLLER")


@case(brokers=3)
def epochs_of_offsets_after_another_has_led(probe: Probe) -> None:
    """3.7 returns the log's latest epoch with the largest timestamp."""
    topic, _ = placed(probe, "t", [2, 1])
    for _ in range(2):
        probe.quiet(produce(topic, timed(TIME_MS, TIME_MS + 2)), 9, on=probe.connect(2))
    probe.quiet(reassign((topic, {0: [1, 2]})), 0)
    await_reassigned(probe, topic, [1, 2])
    probe.quiet(reassign((topic, {0: [1]})), 0)
    await_reassigned(probe, topic, [1])
    await_leader(probe, topic, 1)
    for _ in range(2):
        for timestamp in (-1, -2, -3, -4, TIME_MS, TIME_MS + 2):
            for version in (4, 8):
                probe.exchange(list_offsets(topic, timestamp), version, note=str(timestamp))
        fill(probe, topic, timed(TIME_MS + 1))


@case(settings=(("num.io.threads", "5"),))
def new_topics_show_what_is_set_for_the_controllers_node(probe: Probe) -> None:
    settings = (("log.retention.ms", "500000"), ("compression.type", "gzip"), ("message.max.bytes", "99999"))
    for number, (name, value) in enumerate(settings):
        for node in ("1", ""):
            probe.quiet(incremental((BROKER, node, [(name, SET, value)])), 1)
            await_value(probe, BROKER, "1", name, value)
            send_create(probe, 7, new(f"{probe.name}-{number}-{node}", 1), note=f"{name} of {node!r}")
