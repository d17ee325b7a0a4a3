"""Reading from the nearest replica (KIP-392), as raw probes see it: three brokers, each in a rack of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.fetch import FetchTopic, ReplicaState
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.differential.case import case
from tests.differential.cases.cluster import placed, without_controller
from tests.differential.cases.offset_for_leader_epoch import end_of
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, batch, fetch, fill, list_offsets, metadata, wanted

if TYPE_CHECKING:
    from tests.differential.probe import Probe

RACK_AWARE = (
    ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
    ("1:broker.rack", "a"),
    ("2:broker.rack", "b"),
    ("3:broker.rack", "c"),
)
SHARED_RACK = (
    ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
    ("1:broker.rack", "a"),
    ("2:broker.rack", "b"),
    ("3:broker.rack", "b"),
)
RACKS_ALONE = (("1:broker.rack", "a"), ("2:broker.rack", "b"), ("3:broker.rack", "c"))


def _filled(probe: Probe, *replicas: list[int], suffix: str = "t") -> tuple[str, bytes]:
    """A topic with three records in partition 0, led by broker 1, that all its replicas know to be committed."""
    topic, topic_id = placed(probe, suffix, *(replicas or ([1, 2, 3],)))
    fill(probe, topic, batch(b"a", b"b"), batch(b"c"))
    for broker in (replicas or ([1, 2, 3],))[0][1:]:
        _await_high_watermark(probe, broker, topic, 3)
    return topic, topic_id


def _await_high_watermark(probe: Probe, broker: int, topic: str, offset: int) -> None:
    connection = probe.connect(broker)
    for _ in attempts(f"the high watermark {offset} on broker {broker}"):
        response: Any = probe.quiet(fetch(topic, wanted()), 12, on=connection)
        if response.responses[0].partitions[0].high_watermark == offset:
            return


def _await_named(probe: Probe, topic: str, partition: int, rack: str) -> None:
    """A leader names no follower before its first fetch."""
    for _ in attempts(f"a follower of partition {partition} in rack {rack}"):
        response: Any = probe.quiet(fetch(topic, wanted(partition=partition), rack_id=rack), 12)
        if response.responses[0].partitions[0].preferred_read_replica >= 0:
            return


@case(brokers=3, settings=RACK_AWARE)
def every_version_from_every_rack(probe: Probe) -> None:
    topic, topic_id = _filled(probe)
    for version in range(4, 17):
        for rack in ("", "a", "b", "c", "d"):
            named = {"topic_id": topic_id} if version >= 13 else {}
            probe.exchange(fetch(topic, wanted(), **named, rack_id=rack), version, note=rack)


@case(brokers=3, settings=RACK_AWARE)
def offsets_that_followers_have_or_not(probe: Probe) -> None:
    topic, _ = _filled(probe)
    for offset in (-1, 0, 1, 2, 3, 4, 1_000):
        for rack in ("a", "b"):
            probe.exchange(fetch(topic, wanted(offset), rack_id=rack), 12, note=f"{offset} from {rack}")


@case(brokers=3, settings=RACK_AWARE)
def leader_epochs(probe: Probe) -> None:
    topic, _ = _filled(probe)
    for epoch in (-1, 0, 1, 5):
        for rack in ("a", "b"):
            probe.exchange(fetch(topic, wanted(leader_epoch=epoch), rack_id=rack), 12, note=f"{epoch} from {rack}")
    for epoch in (0, 1):
        for rack in ("a", "b"):
            partition = wanted(3, last_fetched_epoch=epoch)
            probe.exchange(fetch(topic, partition, rack_id=rack), 12, note=f"last fetched {epoch} from {rack}")


@case(brokers=3, settings=RACK_AWARE)
def a_long_wait_is_not_waited_for(probe: Probe) -> None:
    topic, _ = _filled(probe)
    request = fetch(topic, wanted(3), max_wait_ms=60_000, min_bytes=1 << 20, rack_id="b")
    probe.exchange(request, 12, note="at the end")


@case(brokers=3, settings=RACK_AWARE)
def several_partitions_with_other_replicas(probe: Probe) -> None:
    topic, topic_id = _filled(probe, [1, 2], [2, 1], [1, 3], [3, 2], [3, 1])
    _await_named(probe, topic, 2, "c")
    for rack in ("", "a", "b", "c"):
        partitions = [wanted(partition=index) for index in range(5)]
        probe.exchange(fetch(topic, *partitions, rack_id=rack), 12, note=rack)
    probe.exchange(fetch("", wanted(partition=2), wanted(partition=3), topic_id=topic_id, rack_id="c"), 13)


@case(brokers=3, settings=RACK_AWARE)
def other_isolations_and_limits(probe: Probe) -> None:
    topic, _ = _filled(probe)
    for level in (0, 1, 2):
        probe.exchange(fetch(topic, wanted(), isolation_level=level, rack_id="b"), 12, note=f"isolation {level}")
    for limit in (0, 1, -1):
        probe.exchange(fetch(topic, wanted(max_bytes=limit), rack_id="b"), 12, note=f"partition limit {limit}")
        probe.exchange(fetch(topic, wanted(), max_bytes=limit, rack_id="b"), 12, note=f"limit {limit}")


@case(brokers=3, settings=RACK_AWARE)
def sessions(probe: Probe) -> None:
    topic, _ = _filled(probe, [1, 2], [1, 3])
    _await_named(probe, topic, 1, "c")
    connection = probe.connect()
    request = fetch(topic, wanted(), wanted(partition=1), session_epoch=0, rack_id="b")
    response: Any = probe.exchange(request, 12, on=connection, note="full")
    for epoch in (1, 2):
        again = fetch(None, session_id=response.session_id, session_epoch=epoch, rack_id="b")
        probe.exchange(again, 12, on=connection, note=f"incremental {epoch}")
    elsewhere = fetch(None, session_id=response.session_id, session_epoch=3, rack_id="c")
    probe.exchange(elsewhere, 12, on=connection, note="from another rack")
    at_home = fetch(None, session_id=response.session_id, session_epoch=4, rack_id="a")
    probe.exchange(at_home, 12, on=connection, note="from the leader's rack")
    forgets = fetch(None, session_id=response.session_id, session_epoch=5, rack_id="b")
    forgets.topics = [FetchTopic(topic=topic, partitions=[wanted(3)])]
    probe.exchange(forgets, 12, on=connection, note="at the end")


@case(brokers=3, settings=RACK_AWARE)
def replica_ids_with_a_rack(probe: Probe) -> None:
    topic, topic_id = _filled(probe)
    for replica in (-1, -2, -3, 2, 3, 7):
        probe.exchange(fetch(topic, wanted(3), replica_id=replica, rack_id="b"), 12, note=str(replica))
        state = ReplicaState(replica_id=replica, replica_epoch=-1)
        request = fetch("", wanted(3), topic_id=topic_id, replica_state=state, rack_id="b")
        probe.exchange(request, 15, note=str(replica))


@case(brokers=3, settings=RACK_AWARE)
def two_leaders_racks_and_none(probe: Probe) -> None:
    """A leader names no replica for partitions that others lead, in any rack."""
    topic, _ = _filled(probe, [1, 2])
    for broker in (2, 3):
        for rack in ("", "a", "b", "c"):
            probe.exchange(
                fetch(topic, wanted(), rack_id=rack), 12, on=probe.connect(broker), note=f"{broker} from {rack}"
            )


@case(brokers=3, settings=RACK_AWARE)
def followers_serve_consumers(probe: Probe) -> None:
    topic, topic_id = _filled(probe, [1, 2])
    for broker in (2, 3):
        connection = probe.connect(broker)
        for version in range(4, 17):
            named = {"topic_id": topic_id} if version >= 13 else {}
            request = fetch(topic, wanted(), **named)
            probe.exchange(request, version, on=connection, note=f"broker {broker}", only=_without_endpoints)


def _without_endpoints(response: Any) -> Any:
    return {name: value for name, value in response.items() if name != "nodeEndpoints"}


@case(brokers=3, settings=RACK_AWARE)
def offsets_at_a_follower(probe: Probe) -> None:
    topic, _ = _filled(probe)
    connection = probe.connect(2)
    for offset in (-1, 0, 1, 2, 3, 4, 1_000):
        probe.exchange(fetch(topic, wanted(offset)), 12, on=connection, note=str(offset))
    for epoch in (-1, 0, 1):
        probe.exchange(fetch(topic, wanted(leader_epoch=epoch)), 12, on=connection, note=f"epoch {epoch}")
        partition = wanted(3, last_fetched_epoch=epoch)
        probe.exchange(fetch(topic, partition), 12, on=connection, note=f"last fetched {epoch}")
    probe.exchange(fetch(topic, wanted(), isolation_level=1), 12, on=connection, note="read_committed")
    diverging = fetch(topic, wanted(5, last_fetched_epoch=0), isolation_level=1)
    probe.exchange(diverging, 12, on=connection, note="read_committed, diverging")
    waiting = fetch(topic, wanted(3), max_wait_ms=100, min_bytes=1)
    probe.exchange(waiting, 12, on=connection, note="nothing new")


@case(brokers=3, settings=RACK_AWARE)
def replica_ids_at_a_follower(probe: Probe) -> None:
    topic, topic_id = _filled(probe)
    connection = probe.connect(2)
    for replica in (-1, -2, -3, 1, 2, 3, 7):
        for version in (4, 8, 11, 12):
            request = fetch(topic, wanted(3), replica_id=replica)
            probe.exchange(request, version, on=connection, note=str(replica))
        state = ReplicaState(replica_id=replica, replica_epoch=-1)
        request = fetch("", wanted(3), topic_id=topic_id, replica_state=state)
        probe.exchange(request, 15, on=connection, note=str(replica))


@case(brokers=3, settings=RACK_AWARE)
def followers_of_the_leader_in_person(probe: Probe) -> None:
    """Another client sends a follower's request: the leader accepts it."""
    topic, _ = _filled(probe)
    for replica in (2, 3, 7):
        for offset in (0, 2, 3, 4):
            for epoch in (-1, 0, 1):
                partition = wanted(offset, leader_epoch=epoch, log_start_offset=0)
                probe.exchange(
                    fetch(topic, partition, replica_id=replica), 12, note=f"{replica} at {offset} in {epoch}"
                )
    for offset, epoch in ((3, 0), (3, 1), (9, 0), (2, 0), (0, -1)):
        partition = wanted(offset, leader_epoch=0, last_fetched_epoch=epoch, log_start_offset=0)
        probe.exchange(fetch(topic, partition, replica_id=2), 12, note=f"last fetched {epoch} at {offset}")


@case(brokers=3, settings=RACK_AWARE)
def log_start_offsets_of_followers(probe: Probe) -> None:
    topic, _ = _filled(probe)
    deletion = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])],
        timeout_ms=10_000,
    )
    probe.exchange(deletion, 2)
    connection = probe.connect(2)
    for _ in attempts("the follower's log start"):
        response: Any = probe.quiet(fetch(topic, wanted(2)), 12, on=connection)
        if response.responses[0].partitions[0].log_start_offset == 2:
            break
    for offset in (0, 1, 2, 3):
        probe.exchange(fetch(topic, wanted(offset)), 12, on=connection, note=f"{offset} at the follower")
        probe.exchange(fetch(topic, wanted(offset), rack_id="b"), 12, note=f"{offset} at the leader")
    earliest = list_offsets(topic, -2, replica_id=-2)
    probe.exchange(earliest, 7, on=connection, note="earliest, at the follower")


@case(brokers=3, settings=RACK_AWARE)
def list_offsets_at_a_follower(probe: Probe) -> None:
    topic, _ = _filled(probe, [1, 2])
    for broker in (2, 3):
        connection = probe.connect(broker)
        for version in range(1, 9):
            for replica in (-1, -2, 1):
                request = list_offsets(topic, -1, replica_id=replica)
                probe.exchange(request, version, on=connection, note=f"latest at {broker} by {replica}")
        for timestamp in (-1, -2, -3, 0):
            for epoch in (-1, 0, 1):
                request = list_offsets(topic, timestamp, replica_id=-2, leader_epoch=epoch)
                probe.exchange(request, 7, on=connection, note=f"{timestamp} at {broker} in {epoch}")


@case(brokers=3, settings=RACK_AWARE)
def epochs_at_a_follower(probe: Probe) -> None:
    topic, _ = _filled(probe, [1, 2])
    for broker in (2, 3):
        connection = probe.connect(broker)
        for version in all_versions(OffsetForLeaderEpochRequest)[2:]:
            for replica in (-1, -2, 1):
                request = end_of(topic, 0, replica=replica)
                probe.exchange(request, version, on=connection, note=f"at {broker} by {replica}")
        for current in (0, 1):
            probe.exchange(end_of(topic, 0, current=current), 4, on=connection, note=f"at {broker} in {current}")


@case(brokers=3, settings=SHARED_RACK)
def two_followers_in_one_rack(probe: Probe) -> None:
    topic, _ = _filled(probe)
    for offset in (0, 3):
        response: Any = probe.quiet(fetch(topic, wanted(offset), rack_id="b"), 12)
        partition = response.responses[0].partitions[0]
        probe.write(offset=offset, one_of_them=partition.preferred_read_replica in {2, 3}, hw=partition.high_watermark)
    lonely, _ = _filled(probe, [1, 3], suffix="lonely")
    probe.exchange(fetch(lonely, wanted(), rack_id="b"), 12)


@case(brokers=3, settings=RACKS_ALONE)
def racks_without_a_selector(probe: Probe) -> None:
    topic, _ = _filled(probe)
    for rack in ("", "a", "b", "d"):
        probe.exchange(fetch(topic, wanted(), rack_id=rack), 12, note=rack)
    probe.exchange(MetadataRequest(topics=[]), 12, only=without_controller)
    probe.exchange(metadata(topic), 1, only=without_controller)
