"""DescribeTopicPartitions (4.x), as raw probes see it: names, cursors, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from tests.differential.case import case
from tests.differential.cases.cluster import placed

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ONLY_4 = ("4.3.1",)


def describe(*names: str, limit: int = 2_000, cursor: tuple[str, int] | None = None) -> DescribeTopicPartitionsRequest:
    """A request for topics by name; none means all."""
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )


def exchange(
    probe: Probe, *names: str, note: str = "", limit: int = 2_000, cursor: tuple[str, int] | None = None
) -> None:
    """Describe and record the response."""
    probe.exchange(describe(*names, limit=limit, cursor=cursor), 0, note=note)


@case(releases=ONLY_4)
def by_name(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    exchange(probe, topic)


@case(releases=ONLY_4)
def in_the_order_of_names(probe: Probe) -> None:
    names = [probe.topic(suffix) for suffix in ("c", "a", "b", "B", "a.b")]
    probe.exchange(describe(*names), 0, only=lambda response: [each["name"] for each in response["topics"]])
    exchange(probe, *names)


@case(releases=ONLY_4)
def unknown_and_invalid_names(probe: Probe) -> None:
    topic = probe.topic()
    exchange(probe, f"{probe.name}-none")
    for name in ("", ".", "..", "a b", "x" * 250, "ä", "a\0", "__cluster_metadata", "__consumer_offsets_x"):
        exchange(probe, name, note=repr(name[:20]))
    exchange(probe, topic, "missing", "a b")


@case(releases=ONLY_4)
def the_same_name_twice(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    exchange(probe, topic, topic)
    exchange(probe, topic, topic, limit=1)
    exchange(probe, "missing", "missing")


@case(releases=ONLY_4)
def limits(probe: Probe) -> None:
    a, b = probe.topic("a", partitions=3), probe.topic("b", partitions=2)
    for limit in (1, 2, 3, 4, 5, 6, 0, -1, -(2**31), 2**31 - 1):
        exchange(probe, a, b, limit=limit, note=str(limit))


@case(releases=ONLY_4)
def limits_and_unknown_names(probe: Probe) -> None:
    a, c = probe.topic("a", partitions=2), probe.topic("c", partitions=2)
    b = f"{probe.name}-b"
    for limit in (1, 2, 3, 4):
        exchange(probe, a, b, c, limit=limit, note=str(limit))
        exchange(probe, b, f"{probe.name}-bb", limit=limit, note=f"{limit}, unknown alone")


@case(releases=ONLY_4)
def page_by_page(probe: Probe) -> None:
    names = [probe.topic(suffix, partitions=3) for suffix in "abc"]
    cursor: tuple[str, int] | None = None
    for page in range(10):
        response: Any = probe.exchange(describe(*names, limit=2, cursor=cursor), 0, note=f"page {page}")
        if response.next_cursor is None:
            break
        cursor = (response.next_cursor.topic_name, response.next_cursor.partition_index)


@case(releases=ONLY_4)
def cursors(probe: Probe) -> None:
    a, b, c = (probe.topic(suffix, partitions=2) for suffix in "abc")
    for topic in (a, b, c):
        for index in (0, 1, 2, 3, 100, 2**31 - 1):
            exchange(probe, a, b, c, cursor=(topic, index), note=f"{topic} {index}")
    exchange(probe, a, b, c, cursor=(b, 1), limit=1)
    exchange(probe, a, b, c, cursor=(b, 5), limit=1)
    exchange(probe, a, b, c, cursor=(b, 2), limit=1)
    exchange(probe, a, b, c, cursor=(b, 2), limit=3)


@case(releases=ONLY_4)
def cursors_that_are_wrong(probe: Probe) -> None:
    a, b = probe.topic("a"), probe.topic("b")
    for cursor in ((a, -1), (a, -(2**31)), (f"{probe.name}-aa", 0), ("", 0), ("zzz", 0), ("", -1), ("a b", 0)):
        exchange(probe, a, b, cursor=cursor, note=str(cursor))
    exchange(probe, "missing", cursor=("missing", 0))
    exchange(probe, "missing", cursor=("missing", 3))
    exchange(probe, "missing", cursor=("missing", -3))
    exchange(probe, a, b, cursor=("a" * 300, 0))


@case(releases=ONLY_4)
def all_topics(probe: Probe) -> None:
    for suffix in "ab":
        probe.topic(suffix, partitions=2)

    def only(response: Any) -> Any:
        return [each for each in response["topics"] if each["name"].startswith(probe.name)]

    probe.exchange(describe(), 0, only=only)
    probe.exchange(describe(cursor=(f"{probe.name}-a", 1)), 0, only=only)
    probe.exchange(describe(cursor=(f"{probe.name}-a", 2)), 0, only=only)
    probe.exchange(describe(cursor=(f"{probe.name}-aa", 0)), 0, only=only)
    probe.exchange(describe(cursor=(f"{probe.name}-aa", 1)), 0, only=only)
    probe.exchange(describe(cursor=(f"{probe.name}-a", 0), limit=1), 0)
    probe.exchange(describe(cursor=(f"{probe.name}-a", 1), limit=1), 0)
    probe.exchange(describe(cursor=(f"{probe.name}-a", -1)), 0)
    probe.exchange(describe(cursor=("~", 0)), 0, note="after everything")
    probe.exchange(describe(cursor=("~", -1)), 0, note="after everything")


@case(releases=ONLY_4)
def bodies_that_are_wrong(probe: Probe) -> None:
    for body, note in (
        (b"", "empty"),
        (b"\0\0\0\7\xd0\xff\0", "null topics"),
        (b"\2\0\0\0\0\0\1\xff\0", "null name"),
        (b"\2\5none\0\0\0\0\1\xff\0", "right"),
        (b"\2\5none\0\0\0\0\1\xfe\0", "cursor -2"),
        (b"\2\5none\0\0\0\0\1\xff\0more", "more bytes"),
        (b"\2\5none\0\0\0\0\1\1\0\0\0\0\0\0\0", "a cursor of a null name"),
        (b"\2\5none\0\0\0\0\1\1\5none\0\0\0\0\0\0", "a cursor"),
    ):
        probe.raw_body(75, 0, body, note=note)


@case(brokers=3, releases=ONLY_4)
def replicas(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [3, 1], [2, 3])
    exchange(probe, topic)
    probe.exchange(describe(topic), 0, on=probe.connect(3))
    placed(probe, "u", [1, 2], min_insync_replicas="2")
    exchange(probe, f"{probe.name}-u")
