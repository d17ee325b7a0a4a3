"""DeleteTopics, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID
from tests.differential.case import case
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NO_SUCH_ID = b"no such topic id"


def by_names(*names: str, timeout_ms: int = 10_000) -> DeleteTopicsRequest:
    """A request of any version that deletes by name."""
    states = [DeleteTopicState(name=name) for name in names]
    return DeleteTopicsRequest(topic_names=list(names), topics=states, timeout_ms=timeout_ms)


def by_states(*states: tuple[str | None, bytes], timeout_ms: int = 10_000) -> DeleteTopicsRequest:
    """A request of version 6 that names and numbers topics."""
    topics = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in states]
    return DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms)


@case()
def every_version(probe: Probe) -> None:
    for version in all_versions(DeleteTopicsRequest):
        probe.exchange(by_names(probe.topic(f"v{version}")), version)


@case()
def unknown_and_invalid_names(probe: Probe) -> None:
    for version in all_versions(DeleteTopicsRequest):
        for name in (f"{probe.name}-none", "", "a b", "x" * 250):
            probe.exchange(by_names(name), version, note=name[:20])


@case()
def by_id(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    probe.exchange(by_states((None, topic_id)), 6)
    probe.exchange(by_states((None, topic_id)), 6, note="again")
    probe.exchange(by_states((None, NO_SUCH_ID)), 6)


@case()
def both_and_neither(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for name, each in (
        (topic, topic_id),
        (topic, NO_SUCH_ID),
        (f"{probe.name}-none", topic_id),
        (None, ZERO_UUID),
        ("", ZERO_UUID),
        ("", topic_id),
    ):
        probe.exchange(by_states((name, each)), 6)
    probe.exchange(by_names(topic), 6, note="still there")


@case()
def the_same_twice(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in (1, 4, 5):
        probe.exchange(by_names(topic, topic), version)
    probe.exchange(by_names(topic, topic), 6)
    probe.exchange(by_states((topic, ZERO_UUID), (None, topic_id)), 6, note="by name and by id")
    probe.exchange(by_states((None, topic_id), (None, topic_id)), 6, note="by id twice")
    probe.exchange(by_names(f"{probe.name}-none", f"{probe.name}-none"), 5)
    probe.exchange(by_states((None, NO_SUCH_ID), (None, NO_SUCH_ID)), 6)
    probe.exchange(by_states((None, ZERO_UUID), (None, ZERO_UUID)), 6)
    probe.exchange(by_names(topic), 5, note="still there")


@case()
def several(probe: Probe) -> None:
    topics = [probe.topic("a"), probe.topic("b"), probe.topic("c")]
    probe.exchange(by_names(topics[0], f"{probe.name}-none", topics[1]), 5)
    topic_id = probe.topic_id(topics[2])
    probe.exchange(by_states((f"{probe.name}-none", ZERO_UUID), (None, topic_id), (None, NO_SUCH_ID)), 6)


@case()
def a_topic_and_its_name_again(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(by_names(topic), 6)
    assert probe.topic() == topic
    probe.exchange(by_names(topic), 6)
    probe.exchange(by_names(topic), 6)


@case()
def nothing(probe: Probe) -> None:
    for version in all_versions(DeleteTopicsRequest):
        probe.exchange(by_names(), version)


@case()
def timeouts(probe: Probe) -> None:
    for version in (3, 6):
        topic = probe.topic(f"v{version}")
        for timeout_ms in (0, -1):
            probe.exchange(by_names(topic, timeout_ms=timeout_ms), version, note=str(timeout_ms))
            probe.exchange(by_names(f"{probe.name}-none", timeout_ms=timeout_ms), version, note=str(timeout_ms))


@case()
def timeout_0_and_topics_that_are_refused_anyway(probe: Probe) -> None:
    topic = probe.topic()
    both, neither, twice = (topic, NO_SUCH_ID), (None, ZERO_UUID), (f"{probe.name}-none", ZERO_UUID)
    for states, note in (
        ([both], "both"),
        ([neither], "neither"),
        ([twice, twice], "twice"),
        ([both, neither, twice, twice], "all refused"),
        ([both, twice], "one is looked up"),
        ([(None, NO_SUCH_ID)], "an unknown id"),
        ([both, (None, NO_SUCH_ID)], "both, and an unknown id"),
        ([], "none"),
    ):
        probe.exchange(by_states(*states, timeout_ms=0), 6, note=note)
    for version in (1, 5):
        probe.exchange(by_names(f"{probe.name}-none", f"{probe.name}-none", timeout_ms=0), version, note="twice")


@case()
def the_metadata_log(probe: Probe) -> None:
    probe.exchange(by_names("__cluster_metadata"), 6)
    probe.exchange(by_states((None, METADATA_TOPIC_UUID)), 6)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (1, b"", "empty"),
        (1, b"\xff\xff\xff\xff\0\0\x75\x30", "null names"),
        (1, b"\0\0\0\1\xff\xff\0\0\x75\x30", "a null name"),
        (1, b"\0\0\0\0\0\0\x75\x30more", "more bytes"),
        (1, b"\0\0\0\0", "no timeout"),
        (4, b"\0\0\0\x75\x30\0", "null names"),
        (6, b"\0\0\0\x75\x30\0", "null topics"),
        (6, b"\2\0" + bytes(15) + b"\0\0\x75\x30\0", "an id of 15 bytes"),
    ):
        probe.raw_body(20, version, body, note=note)
