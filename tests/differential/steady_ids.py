"""Topics and members whose random ids make one order in Java's hash tables.

Kafka's assignors iterate over hash tables of topic ids, of partitions and of member ids. A random id decides there
which member gets which partition, so that a real broker would not repeat its own responses. These functions draw ids
again until their order is the one that the case expects. Our broker draws its ids in the same way, so that the order of
its tables is compared as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.java_hash import hash_bucket, string_hash, timeline_order, uuid_hash
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from tests.differential.coordinator_barriers import await_coordinators
from tests.differential.group_requests import MEMBER_ID_REQUIRED, join, leave
from tests.differential.probe import attempts
from tests.differential.requests import metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.differential.probe import Probe

__all__ = [
    "draw_member_id",
    "topic_of_ordered_partitions",
    "topics_in_hash_order",
    "topics_in_id_order",
]

THIRDS: Final = 3
TABLE: Final = 16
"""The table of a HashMap or HashSet with at most 12 keys, if it was not made for a number of keys."""
TABLES: Final = (4, 8, TABLE, 32, 64)
"""The tables in which assignors keep the partitions of a topic, with some to spare."""
DRAWS_MAX: Final = 2_000
CREATE_VERSION: Final = 7
"""The first version of CreateTopics whose response lists topic ids."""
DELETE_VERSION: Final = 5
METADATA_VERSION: Final = 12
JOIN_VERSION: Final = 9
LEAVE_VERSION: Final = 5


def topics_in_hash_order(probe: Probe, **partitions: int) -> list[str]:
    """Create topics, given by suffix with their number of partitions, whose ids are in this order in hash tables.

    The id of topic number i is in bucket i of a table of 16 buckets (Java's Uuid.hashCode, spread as by HashMap), and
    so in bucket i of each smaller table that has as many buckets as there are topics. A topic with another id is
    deleted and created again: one id of 16 fits, and the topics are drawn side by side.
    """
    assert len(partitions) <= TABLES[0]
    return _draw_topics(probe, partitions, lambda number, topic_id: hash_bucket(uuid_hash(topic_id), TABLE) == number)


def topics_in_id_order(probe: Probe, **partitions: int) -> list[str]:
    """Create at most three topics, given by suffix with their partitions, whose ids are in this order.

    It is that of Uuid.compareTo, and that of hash tables of 16 buckets.
    """
    assert len(partitions) <= THIRDS

    def is_ordered(number: int, topic_id: bytes) -> bool:
        bucket = hash_bucket(uuid_hash(topic_id), TABLE)
        return bucket * THIRDS // TABLE == number and topic_id[0] * THIRDS >> 7 == number

    return _draw_topics(probe, partitions, is_ordered)


def topic_of_ordered_partitions(probe: Probe, suffix: str = "t", *, partitions: int) -> str:
    """Create a topic whose partitions are in order in hash tables of 4 to 64 buckets (TopicIdPartition.hashCode).

    About one id of eight fits for three partitions.
    """
    assert partitions <= TABLES[0]

    def is_ordered(_number: int, topic_id: bytes) -> bool:
        hashes = [31 * uuid_hash(topic_id) + partition for partition in range(partitions)]
        buckets = [[hash_bucket(each, table) for each in hashes] for table in TABLES]
        return all(each == sorted(set(each)) for each in buckets)

    return _draw_topics(probe, {suffix: partitions}, is_ordered)[0]


def _draw_topics(probe: Probe, partitions: Mapping[str, int], fits: Callable[[int, bytes], bool]) -> list[str]:
    """Create topics by suffix, and again those whose id does not fit, until all fit; return their names.

    `fits` gets the number of a topic and its id.
    """
    counts = {f"{probe.name}-{suffix}": number for suffix, number in partitions.items()}
    names = missing = list(counts)
    ids: dict[str, bytes] = {}
    for _ in range(DRAWS_MAX):
        topics = [CreatableTopic(name=name, num_partitions=counts[name], replication_factor=1) for name in missing]
        created: Any = probe.quiet(CreateTopicsRequest(topics=topics, timeout_ms=10_000), CREATE_VERSION)
        assert all(each.error_code == 0 for each in created.topics), created
        ids |= {each.name: each.topic_id for each in created.topics}
        _await_id(probe, created.topics[-1].topic_id)  # A slow broker would fall hundreds of topics behind.
        missing = [each.name for each in created.topics if not fits(names.index(each.name), each.topic_id)]
        if not missing:
            break
        deleted: Any = probe.quiet(DeleteTopicsRequest(topic_names=missing, timeout_ms=10_000), DELETE_VERSION)
        assert all(each.error_code == 0 for each in deleted.responses), deleted
    assert not missing, f"no fitting ids of {missing} in {DRAWS_MAX} draws"
    for name, number in counts.items():
        _await_id(probe, ids[name])
        probe.await_topic(name, number)
    await_coordinators(probe, ids)
    return names


def _await_id(probe: Probe, topic_id: bytes) -> None:
    """Wait until the broker knows a topic by its id: by its name it may still know a topic that is deleted."""
    for _ in attempts(f"the topic with id {topic_id.hex()}"):
        described: Any = probe.quiet(metadata(ids=[topic_id]), METADATA_VERSION)
        if described.topics[0].error_code == 0:
            return


def _has_one_order(other: int, given: int) -> bool:
    """Return True if a HashMap lists a hash after the other and a TimelineHashMap before it, whichever came first."""
    in_timeline = timeline_order([other, given]) == [1, 0] and timeline_order([given, other]) == [0, 1]
    return in_timeline and hash_bucket(other, TABLE) < hash_bucket(given, TABLE)


def draw_member_id(probe: Probe, group: str, *, beside: str) -> str:
    """Return a member id that the coordinator gives to a classic member and that has one order beside another one.

    The other one must not be in the first slot of a TimelineHashMap, nor in the last bucket of a HashMap. An id that
    does not fit leaves the group, because a classic group waits for the members to which it gave one.
    """
    for _ in range(DRAWS_MAX):
        given: Any = probe.quiet(join(group), JOIN_VERSION)
        assert given.error_code == MEMBER_ID_REQUIRED, given
        if _has_one_order(string_hash(beside), string_hash(given.member_id)):
            return str(given.member_id)
        probe.quiet(leave(group, (given.member_id, None)), LEAVE_VERSION)
    raise AssertionError(f"no fitting member id in {DRAWS_MAX} draws")
