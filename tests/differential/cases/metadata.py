"""Metadata, as raw probes see it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID
from tests.differential.case import case
from tests.differential.cases.find_coordinator import GROUP, await_coordinator
from tests.differential.probe import RESPONSE_SECONDS
from tests.differential.requests import all_versions, batch, fill, metadata

if TYPE_CHECKING:
    from collections.abc import Callable

from tests.differential.probe import Probe

NO_SUCH_ID = b"no such topic id"


def of_topics(*names: str) -> Callable[[Any], Any]:
    """Return a function that reduces a listing of the whole cluster to the topics of a case."""

    def only(response: Any) -> Any:
        return response | {"topics": [each for each in response["topics"] if each["name"] in names]}

    return only


@case()
def every_version_by_name(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    for version in all_versions(MetadataRequest):
        probe.exchange(metadata(topic), version)


@case()
def null_topics_mean_all(probe: Probe) -> None:
    names = [probe.topic("a"), probe.topic("b", partitions=2)]
    for version in range(1, 14):
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        probe.exchange(request, version, only=of_topics(*names))


@case()
def empty_topics_mean_all_in_version_0_and_none_later(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(MetadataRequest):
        probe.exchange(MetadataRequest(topics=[]), version, only=of_topics(topic))


@case()
def null_topics_of_version_0(probe: Probe) -> None:
    topic = probe.topic()
    probe.raw_body(3, 0, b"\xff\xff\xff\xff", note="-1 topics", only=of_topics(topic))
    probe.raw_body(3, 1, b"\xff\xff\xff\xfe", note="-2 topics", only=of_topics(topic))


@case()
def unknown_topic_without_creation(probe: Probe) -> None:
    for version in range(4, 14):
        probe.exchange(metadata(f"{probe.name}-none"), version)


@case()
def names_that_no_topic_may_have(probe: Probe) -> None:
    for name in ("", ".", "..", "a b", "a/b", "ä", "x" * 249, "x" * 250, "a\0b", "a:b"):
        for create in (False, True):
            if name == "x" * 249 and create:
                continue
            probe.exchange(metadata(name, create=create), 9, note=f"{name[:10]!r} {create}")
    probe.exchange(metadata(""), 1)
    probe.exchange(metadata("a b"), 12)


@case()
def many_topics_in_one_request(probe: Probe) -> None:
    names = [probe.topic("a"), probe.topic("b")]
    probe.exchange(metadata(f"{probe.name}-x", names[1], "a b", names[0], f"{probe.name}-y"), 12)
    probe.exchange(metadata(names[0], f"{probe.name}-x", names[1]), 1)


@case()
def internal_topics(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    for version in (0, 1, 9, 12):
        probe.exchange(metadata("__consumer_offsets"), version)


@case()
def the_same_topic_twice(probe: Probe) -> None:
    topic = probe.topic()
    missing = f"{probe.name}-none"
    for version in (0, 4, 9, 12):
        probe.exchange(metadata(topic, topic), version)
    probe.exchange(metadata(missing, topic, missing), 12)


@case()
def by_id(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in (12, 13):
        probe.exchange(metadata(ids=[topic_id]), version)
        probe.exchange(metadata(ids=[NO_SUCH_ID]), version)
        probe.exchange(metadata(ids=[topic_id, NO_SUCH_ID]), version)
        probe.exchange(metadata(ids=[topic_id, topic_id]), version, note="twice")


@case()
def by_id_in_versions_that_cannot(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in (10, 11):
        probe.exchange(metadata(ids=[topic_id]), version)
        with_name = MetadataRequestTopic(name=topic, topic_id=topic_id)
        probe.exchange(MetadataRequest(topics=[with_name]), version, note="name and id")
        probe.exchange(metadata(None), version, note="neither")


@case()
def name_and_id_and_neither(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in (12, 13):
        for name, each in ((topic, topic_id), (f"{probe.name}-none", topic_id), (topic, NO_SUCH_ID)):
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=each)])
            request.allow_auto_topic_creation = False
            probe.exchange(request, version)
        probe.exchange(metadata(None), version)


@case()
def names_and_ids_in_one_request(probe: Probe) -> None:
    names = [probe.topic("a"), probe.topic("b")]
    ids = [probe.topic_id(name) for name in names]
    probe.exchange(metadata(names[0], ids=[ids[1]]), 12)
    probe.exchange(metadata(names[0], ids=[ids[0]]), 12)
    probe.exchange(metadata(f"{probe.name}-none", ids=[ids[0]]), 12)


@case()
def reserved_ids(probe: Probe) -> None:
    for each in (ZERO_UUID, METADATA_TOPIC_UUID):
        probe.exchange(metadata(ids=[each]), 12)
    probe.exchange(metadata("__cluster_metadata"), 12)


@case()
def authorized_operations(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(8, 14):
        probe.exchange(metadata(topic, include_topic_authorized_operations=True), version)
    for version in range(8, 11):
        probe.exchange(metadata(include_cluster_authorized_operations=True), version)
        request = metadata(topic, f"{probe.name}-none", include_topic_authorized_operations=True)
        request.include_cluster_authorized_operations = True
        probe.exchange(request, version)
    request = metadata(topic, ids=[NO_SUCH_ID], include_topic_authorized_operations=True)
    probe.exchange(request, 12)


@case()
def auto_creation(probe: Probe) -> None:
    """The first response is an error; soon after the topic is there with the broker's defaults."""
    name = f"{probe.name}-made"
    probe.exchange(metadata(name, create=True), 9)
    probe.await_topic(name)
    probe.exchange(metadata(name, create=True), 9)
    probe.exchange(metadata(name, create=False), 12)
    fill(probe, name, batch(b"a"))


@case()
def auto_creation_in_versions_without_a_choice(probe: Probe) -> None:
    for version in range(4):
        name = f"{probe.name}-v{version}"
        probe.exchange(metadata(name), version)
        probe.await_topic(name)
        probe.exchange(metadata(name), version)


@case()
def auto_creation_of_several(probe: Probe) -> None:
    topic = probe.topic("there")
    names = [f"{probe.name}-a", f"{probe.name}-b"]
    probe.exchange(metadata(names[0], topic, "a b", names[1], names[0], create=True), 12)
    for name in names:
        probe.await_topic(name)
    probe.exchange(metadata(*names), 12)


@case()
def auto_creation_by_id_never_happens(probe: Probe) -> None:
    probe.exchange(metadata(ids=[NO_SUCH_ID], create=True), 12)
    name = f"{probe.name}-x"
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=NO_SUCH_ID)])
    probe.exchange(request, 12)
    probe.exchange(metadata(name), 12)


@case()
def auto_creation_of_a_colliding_name(probe: Probe) -> None:
    probe.topic("a.b")
    name = f"{probe.name}-a_b"
    probe.exchange(metadata(name, create=True), 9)
    deadline = time.monotonic() + RESPONSE_SECONDS
    response: Any = probe.quiet(metadata(name), 9)
    assert response.topics[0].error_code == 3
    assert time.monotonic() < deadline
    probe.exchange(metadata(name), 9)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic()
    name = topic.encode()
    sized = len(name).to_bytes(2, "big") + name
    compact = bytes([len(name) + 1]) + name
    for version, body, note in (
        (1, b"", "empty"),
        (1, b"\0\0\0\2" + sized, "two topics, one is there"),
        (1, b"\x7f\xff\xff\xff" + sized, "2**31-1 topics"),
        (1, b"\0\0\0\1\xff\xff", "null name"),
        (1, b"\0\0\0\1\xff\xfe", "name of -2 bytes"),
        (1, b"\0\0\0\1" + sized + b"more", "more bytes"),
        (4, b"\0\0\0\1" + sized, "no flag"),
        (4, b"\0\0\0\1" + sized + b"\2", "a flag of 2"),
        (4, b"\0\0\0\1" + sized + b"\xff", "a flag of -1"),
        (9, b"\2" + compact + b"\0\0\0\0\0", "right"),
        (9, b"\0\0\0\0\0", "null array"),
        (9, b"\xff\xff\xff\xff\x0f", "2**32-2 topics"),
        (9, b"\2\0\0\0\0\0\0", "null name"),
        (9, b"\2" + compact + b"\1\5\2xx\0\0\0\0", "a tag in the topic"),
        (9, b"\2" + compact + b"\0\0\0\0\1\x0a\2xx", "a tag in the body"),
        (9, b"\2" + compact + b"\0\0\0\0", "no tags"),
        (9, b"\2" + compact + b"\0\0\0\0\1\x0a\x7fxx", "a tag that is too long"),
        (9, b"\2" + compact + b"\0\0\0\0\2\x0a\0\x0a\0", "the same tag twice"),
        (9, b"\2" + compact + b"\0\0\0\0\2\x0b\0\x0a\0", "tags that descend"),
        (9, b"\2" + compact + b"\0\0\0\0\x80", "half a varint"),
    ):
        probe.raw_body(3, version, body, note=note, only=of_topics(topic))


@case()
def a_name_that_is_not_utf8(probe: Probe) -> None:
    probe.raw_body(3, 4, b"\0\0\0\1\0\2\xc3\x28\0", note="not UTF-8")
    probe.raw_body(3, 4, b"\0\0\0\1\0\3\xed\xa0\x80\0", note="a surrogate")


@case()
def a_deleted_topic(probe: Probe) -> None:
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest

    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    deadline = time.monotonic() + RESPONSE_SECONDS
    while True:
        response: Any = probe.quiet(metadata(topic), 12)
        if response.topics[0].error_code:
            break
        assert time.monotonic() < deadline
    probe.exchange(metadata(topic), 12)
    probe.exchange(metadata(ids=[topic_id]), 12)
