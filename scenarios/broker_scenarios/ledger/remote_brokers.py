"""The brokers of another process, for a ledger: their logs as consumers read them, and the journal of HTTP control.

A cluster of which the address alone is known has no journal: losses have no causes then. Bytes are not in the events
that HTTP returns, so that records which a replica has cut off have no names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.python.runtime import seconds

from broker_client.admin import Admin, OffsetSpec
from broker_client.consumer import Consumer
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import LogRecord
from broker_scenarios.ledger.identities import ContentNames
from broker_scenarios.ledger.judgement import BrokerState
from broker_scenarios.truth import JOURNAL_DROPPED, Truth, UncommittedRecord
from broker_sim.errors import nearest
from broker_sim.running_cluster import ControlledCluster
from sim_runtime.deadlines import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_sim.control.events import Event
    from broker_sim.running_cluster import AttachedCluster

__all__ = ["read_remote_brokers", "remote_now_us"]

_SECOND_US: Final = 1_000_000
_READ_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.2


def remote_now_us() -> int:
    """Return the time of the journal of another process on this machine, in microseconds."""
    return round(seconds() * _SECOND_US)


def read_remote_brokers(
    cluster: AttachedCluster, topics: tuple[str, ...], started_us: int, settled_s: float
) -> BrokerState:
    """Read logs and journal, after at most `settled_s` seconds until all replicas are equal.

    Raises:
        ScenarioError: a topic does not exist, or its logs cannot be read.
    """
    numbered: list[tuple[int, Event]] = []
    caveats: list[str] = []
    if isinstance(cluster, ControlledCluster):
        try:
            cluster.wait_until_quiet(timeout_s=settled_s)
        except DeadlineExceeded as error:
            caveats.append(str(error))
        numbered = cluster.numbered_events()
        if dropped := cluster.dropped_events():
            caveats.append(JOURNAL_DROPPED.format(dropped, len(numbered)))
    names = ContentNames()
    servers: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers}
    try:
        with Admin(**servers) as admin:
            partitions = _partitions(admin, topics)
            keys = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
            starts = admin.list_offsets(dict.fromkeys(keys, OffsetSpec.EARLIEST))
        everything = _read(servers, keys, "read_uncommitted")
        committed = _read(servers, keys, "read_committed")
    except ProducerError as error:
        raise ScenarioError(f"a ledger of {', '.join(topics)}: its logs cannot be read: {error}") from None
    places = {(each.topic, each.partition, each.offset) for each in committed}
    truth = Truth(
        stored=[_stored(each, names) for each in committed],
        truncated=[],
        journal=[event for _, event in numbered],
        caveats=tuple(caveats),
        uncommitted=[
            UncommittedRecord(*_stored(each, names)[:4], state="aborted")
            for each in everything
            if (each.topic, each.partition, each.offset) not in places
        ],
        log_starts={(key.topic, key.partition): found.offset for key, found in starts.items()},
    )
    return BrokerState(truth, names, numbered, partitions, started_us, remote_now_us())


def _partitions(admin: Admin, topics: tuple[str, ...]) -> dict[str, int]:
    known = admin.list_topics()
    for topic in topics:
        if topic not in known:
            raise ScenarioError(f"a ledger of {topic!r}: there is no such topic{nearest(topic, known)}")
    return {name: len(found.partitions) for name, found in admin.describe_topics(topics).items()}


def _read(servers: dict[str, Any], keys: Sequence[TopicPartition], isolation_level: str) -> list[ConsumerRecord]:
    """Read all records up to the ends as they are now: high watermarks, or last stable offsets."""
    found: list[ConsumerRecord] = []
    deadline_s = seconds() + _READ_WITHIN_S
    configs = {**servers, "isolation.level": isolation_level}
    with Consumer(**configs) as consumer:
        consumer.assign(keys)
        consumer.seek_to_beginning(*keys)
        ends = consumer.end_offsets(keys)
        while any(consumer.position(key) < ends[key] for key in keys):
            if seconds() >= deadline_s:
                raise ScenarioError(f"{len(found)} records were read within {_READ_WITHIN_S:g} s, and there are more")
            found += consumer.poll(_POLL_S)
    return [each for each in found if each.offset < ends[TopicPartition(each.topic, each.partition)]]


def _stored(record: ConsumerRecord, names: ContentNames) -> LogRecord:
    return LogRecord(record.topic, record.partition, record.offset, names.of((record.key, record.value)))
