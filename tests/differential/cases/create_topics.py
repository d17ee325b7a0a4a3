"""CreateTopics, as raw probes see it: names, counts, assignments, flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs import releases
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.differential.case import case
from tests.differential.requests import all_versions, metadata

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def new(
    name: str,
    partitions: int = 1,
    replication: int = 1,
    *,
    assigned: dict[int, list[int]] | list[tuple[int, list[int]]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    """One topic to create; underscores in a config's name mean dots."""
    pairs = list(assigned.items()) if isinstance(assigned, dict) else assigned or []
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in pairs],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def create(*topics: CreatableTopic, validate_only: bool = False, timeout_ms: int = 10_000) -> CreateTopicsRequest:
    """A request to create topics."""
    return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)


def short(response: Any) -> Any:
    """Return the response without the configurations of new topics: other cases compare those."""
    return response | {
        "topics": [{key: v for key, v in each.items() if key != "configs"} for each in response["topics"]]
    }


def send_create(probe: Probe, version: int, *topics: CreatableTopic, note: str = "", **options: Any) -> Any:
    """Create topics and record the response, with a flag in place of each new topic's id; return the response."""

    def only(response: Any) -> Any:
        topics = short(response)["topics"]
        for each in topics:
            if not each["errorCode"] and each.get("topicId", "A" * 22) != "A" * 22:
                each["topicId"] = "<new>"
        return response | {"topics": topics}

    return probe.exchange(create(*topics, **options), version, only=only, note=note)


@case()
def every_version(probe: Probe) -> None:
    for version in all_versions(CreateTopicsRequest):
        name = f"{probe.name}-v{version}"
        send_create(probe, version, new(name, 2))
        if version in releases.get(probe.release).api_versions[CreateTopicsRequest.API_KEY]:
            probe.await_topic(name, 2)
        probe.exchange(metadata(name), 9)


@case()
def errors_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(CreateTopicsRequest):
        send_create(probe, version, new(topic), new("a b"), new(f"{probe.name}-x", 0))


@case()
def default_counts(probe: Probe) -> None:
    for version in (2, 3, 4, 5, 7):
        send_create(probe, version, new(f"{probe.name}-v{version}", -1, -1))
        send_create(probe, version, new(f"{probe.name}-p{version}", -1, 1))
        send_create(probe, version, new(f"{probe.name}-r{version}", 1, -1))


@case()
def partition_counts(probe: Probe) -> None:
    for count in (0, -2, -1000, 10_001, 100_000):
        send_create(probe, 7, new(f"{probe.name}-x", count), note=str(count))


@case(accepted={"3.7.2": "no array of a JVM is that long: the real broker responds with its OutOfMemoryError"})
def more_partitions_than_an_array_holds(probe: Probe) -> None:
    send_create(probe, 7, new(f"{probe.name}-x", 2_147_483_647))


@case()
def many_partitions_in_one_request(probe: Probe) -> None:
    topics = [new(f"{probe.name}-{number}", 6_000) for number in range(2)]
    send_create(probe, 7, *topics, validate_only=True)
    send_create(probe, 7, *topics, new(f"{probe.name}-small"))


@case()
def replication_factors(probe: Probe) -> None:
    for factor in (0, -2, 2, 3, 32_767, -32_768):
        send_create(probe, 7, new(f"{probe.name}-x", 1, factor), note=str(factor))
        send_create(probe, 7, new(f"{probe.name}-x", 1, factor), note=f"{factor} validate", validate_only=True)


@case()
def both_counts_are_wrong(probe: Probe) -> None:
    send_create(probe, 7, new(f"{probe.name}-x", 0, 0))
    send_create(probe, 7, new(f"{probe.name}-x", 0, 5))
    send_create(probe, 7, new("a b", 0, 0))


@case()
def names(probe: Probe) -> None:
    wrong = ["", ".", "..", "...", "a b", "a/b", "a:b", "ä", "x" * 250, "a\0b", "a,b", "a\\b", "*", "a\n"]
    for name in wrong:
        send_create(probe, 7, new(name), note=repr(name[:20]), validate_only=True)
    send_create(probe, 7, new("x" * 249), validate_only=True)
    send_create(probe, 7, new("A.b_c-9"), validate_only=True)


@case()
def names_of_internal_topics(probe: Probe) -> None:
    send_create(probe, 7, new("__cluster_metadata"))
    send_create(probe, 7, new("__cluster_metadata"), validate_only=True)


@case()
def names_that_exist_or_collide(probe: Probe) -> None:
    topic = probe.topic("a.b")
    send_create(probe, 7, new(topic))
    send_create(probe, 7, new(topic), validate_only=True)
    send_create(probe, 7, new(f"{probe.name}-a_b"))
    send_create(probe, 7, new(f"{probe.name}-a_b"), validate_only=True)
    send_create(probe, 7, new(topic, 0, 7), note="exists, counts are wrong")
    send_create(probe, 5, new(topic))
    send_create(probe, 7, new(f"{probe.name}-c.d"), new(f"{probe.name}-c_d"), note="both new")


@case()
def the_same_name_twice(probe: Probe) -> None:
    name = f"{probe.name}-x"
    for version in (2, 5, 7):
        send_create(probe, version, new(name), new(name))
        send_create(probe, version, new(name), new(f"{probe.name}-other{version}"), new(name))
    send_create(probe, 7, new("a b"), new("a b"))
    topic = probe.topic("there")
    send_create(probe, 7, new(topic), new(topic))


@case()
def no_topics(probe: Probe) -> None:
    for version in all_versions(CreateTopicsRequest):
        send_create(probe, version)


@case()
def validate_only_makes_nothing(probe: Probe) -> None:
    name = f"{probe.name}-x"
    for version in (1, 2, 4, 5, 7):
        send_create(probe, version, new(name, 3), validate_only=True)
    probe.exchange(metadata(name), 9)
    send_create(probe, 7, new(name, assigned={0: [1]}, partitions=-1, replication=-1), validate_only=True)


@case()
def timeouts(probe: Probe) -> None:
    for timeout_ms in (0, -1):
        for validate_only in (False, True):
            name = f"{probe.name}-{-timeout_ms}-{validate_only}"
            note = f"{timeout_ms} {validate_only}"
            send_create(probe, 7, new(name), timeout_ms=timeout_ms, validate_only=validate_only, note=note)


@case()
def timeout_0_and_an_error(probe: Probe) -> None:
    send_create(probe, 7, new("a b"), timeout_ms=0)
    send_create(probe, 5, new("a b"), new(f"{probe.name}-x"), timeout_ms=0)


@case()
def assignments(probe: Probe) -> None:
    for number, assigned in enumerate(([(0, [1])], [(0, [1]), (1, [1])], [(1, [1]), (0, [1])])):
        name = f"{probe.name}-{number}"
        send_create(probe, 7, new(name, -1, -1, assigned=assigned))
        probe.await_topic(name, len(assigned))
        probe.exchange(metadata(name), 9)


@case()
def assignments_that_are_wrong(probe: Probe) -> None:
    for assigned, note in (
        ([(0, [])], "no replicas"),
        ([(0, [1, 1])], "a replica twice"),
        ([(0, [2])], "an unknown broker"),
        ([(0, [1, 2])], "a known and an unknown broker"),
        ([(0, [-1])], "broker -1"),
        ([(1, [1])], "not from 0"),
        ([(0, [1]), (2, [1])], "a gap"),
        ([(-1, [1])], "partition -1"),
        ([(0, [1]), (0, [1])], "the same partition twice"),
        ([(0, [1]), (1, [1, 2])], "different factors"),
        ([(0, [1]), (1, [])], "the second has none"),
    ):
        for version in (4, 7):
            send_create(probe, version, new(f"{probe.name}-x", -1, -1, assigned=assigned), note=note)


@case()
def assignments_with_counts(probe: Probe) -> None:
    name = f"{probe.name}-x"
    for partitions, replication in ((1, 1), (1, -1), (-1, 1), (0, 0), (5, -1)):
        for version in (4, 7):
            request = new(name, partitions, replication, assigned={0: [1]})
            send_create(probe, version, request, note=f"{partitions} {replication}")


@case()
def good_and_bad_topics_together(probe: Probe) -> None:
    topic = probe.topic("there")
    good = f"{probe.name}-good"
    send_create(probe, 7, new(topic), new(good, 2), new("a b"), new(f"{probe.name}-x", 1, 9))
    probe.await_topic(good, 2)
    probe.exchange(metadata(good), 9)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (2, b"", "empty"),
        (2, b"\xff\xff\xff\xff\0\0\x75\x30\0", "null topics"),
        (2, b"\0\0\0\1\xff\xff\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0\0\x75\x30\0", "null name"),
        (2, b"\0\0\0\1\0\1t\0\0\0\1\0\1\xff\xff\xff\xff\0\0\0\0\0\0\x75\x30\0", "null assignments"),
        (2, b"\0\0\0\1\0\1t\0\0\0\1\0\1\0\0\0\0\xff\xff\xff\xff\0\0\x75\x30\0", "null configs"),
        (2, b"\0\0\0\0\0\0\x75\x30\0more", "more bytes"),
        (2, b"\0\0\0\0\0\0\x75\x30", "no flag"),
        (2, b"\x7f\xff\xff\xff\0\0\x75\x30\0", "2**31-1 topics"),
        (5, b"\0\0\0\x75\x30\0\0", "null topics"),
        (5, b"\1\0\0\x75\x30\0\0", "right"),
    ):
        probe.raw_body(19, version, body, note=note)
