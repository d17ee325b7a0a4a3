"""The quorum's own APIs at a controller's listener: votes, epochs, the metadata log, snapshots (KIP-595, KIP-630)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages import add_raft_voter, remove_raft_voter, vote
from protocol_specs.messages import begin_quorum_epoch as begin
from protocol_specs.messages import end_quorum_epoch as end
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from protocol_specs.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    SnapshotId,
    TopicSnapshot,
)
from protocol_specs.messages.update_raft_voter import UpdateRaftVoterRequest
from protocol_specs.uuids import METADATA_TOPIC_UUID
from tests.differential.case import case
from tests.differential.cases.controller_brokers import cluster_id
from tests.differential.cases.controller_listener import controller, exchange
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from tests.differential.probe import Probe

OTHER_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
STEADY_NAMES = ("leaderEpoch", "highWatermark", "epoch", "endOffset")


def steady(response: Any) -> Any:
    """Return the response without the current epoch, the current offsets and the leader's id."""
    if isinstance(response, dict):
        return {
            name: "<of the moment>" if name in STEADY_NAMES and isinstance(item, int) and item > 0 else steady(item)
            for name, item in response.items()
        }
    return [steady(each) for each in response] if isinstance(response, list) else response


def epoch_of(probe: Probe, node: int = 1) -> int:
    """The epoch of the quorum now."""
    response: Any = probe.quiet(of((METADATA_TOPIC, (0,))), 1)
    epoch: int = response.topics[0].partitions[0].leader_epoch
    return epoch


def vote_request(
    epoch: int, *, cluster: str | None = None, topic: str = METADATA_TOPIC, voter: int = -1, **of_it: Any
) -> vote.VoteRequest:
    """Return a request of candidate 77, unless the case names another."""
    given = {"partition_index": 0, "replica_id": 77, "last_offset": 5, "last_offset_epoch": 0} | of_it
    partition = vote.PartitionData(replica_epoch=epoch, **given)
    return vote.VoteRequest(
        cluster_id=cluster, voter_id=voter, topics=[vote.TopicData(topic_name=topic, partitions=[partition])]
    )


@case()
def votes_that_are_refused(probe: Probe) -> None:
    now = epoch_of(probe)
    versions = (0, 1, 2)
    exchange(probe, vote_request(now, cluster=OTHER_CLUSTER), *versions, note="another cluster", only=steady)
    exchange(probe, vote_request(now, topic="other"), *versions, note="another topic", only=steady)
    exchange(probe, vote_request(now, partition_index=1), *versions, note="partition 1", only=steady)
    exchange(probe, vote.VoteRequest(topics=[]), *versions, note="no topic", only=steady)
    exchange(probe, vote_request(0), *versions, note="an old epoch", only=steady)
    exchange(probe, vote_request(now - 1, last_offset_epoch=now - 1), *versions, note="the epoch before", only=steady)
    exchange(probe, vote_request(now, replica_id=-1), *versions, note="no candidate", only=steady)
    exchange(probe, vote_request(now, last_offset=-1), *versions, note="no offset", only=steady)
    exchange(probe, vote_request(now, last_offset_epoch=now + 1), *versions, note="a later log", only=steady)
    exchange(probe, vote_request(now, last_offset_epoch=now), *versions, note="a log of the epoch", only=steady)
    exchange(probe, vote_request(now), *versions, note="the present epoch", only=steady)
    exchange(probe, vote_request(now, voter=9), 1, 2, note="meant for another voter", only=steady)
    exchange(probe, vote_request(now, pre_vote=True), 2, note="in advance", only=steady)


def begin_request(
    epoch: int, leader: int, *, cluster: str | None = None, voter: int = -1, topic: str = METADATA_TOPIC
) -> begin.BeginQuorumEpochRequest:
    """Return a leader's announcement that it leads."""
    partition = begin.PartitionData(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return begin.BeginQuorumEpochRequest(
        cluster_id=cluster, voter_id=voter, topics=[begin.TopicData(topic_name=topic, partitions=[partition])]
    )


@case()
def epochs_that_begin(probe: Probe) -> None:
    now = epoch_of(probe)
    exchange(probe, begin_request(now, 1, cluster=OTHER_CLUSTER), 0, 1, note="another cluster", only=steady)
    exchange(probe, begin_request(now, 1, topic="other"), 0, 1, note="another topic", only=steady)
    exchange(probe, begin_request(0, 1), 0, 1, note="an old epoch", only=steady)
    exchange(probe, begin_request(now, -1), 0, 1, note="no leader", only=steady)
    exchange(probe, begin_request(now, 1), 0, 1, note="the leader itself", only=steady)
    exchange(probe, begin_request(now, 1, voter=9), 1, note="meant for another voter", only=steady)


def end_request(
    epoch: int, leader: int, *, cluster: str | None = None, topic: str = METADATA_TOPIC
) -> end.EndQuorumEpochRequest:
    """Return a leader's resignation."""
    partition = end.PartitionData(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return end.EndQuorumEpochRequest(
        cluster_id=cluster, topics=[end.TopicData(topic_name=topic, partitions=[partition])]
    )


@case()
def epochs_that_end(probe: Probe) -> None:
    now = epoch_of(probe)
    exchange(probe, end_request(now, 1, cluster=OTHER_CLUSTER), 0, 1, note="another cluster", only=steady)
    exchange(probe, end_request(now, 1, topic="other"), 0, 1, note="another topic", only=steady)
    exchange(probe, end_request(0, 1), 0, 1, note="an old epoch", only=steady)
    exchange(probe, end_request(now, -1), 0, 1, note="no previous leader", only=steady)
    exchange(probe, end_request(now, 1), 0, 1, note="the leader itself", only=steady)


def fetch_request(
    offset: int,
    epoch: int,
    last_epoch: int,
    *,
    max_wait_ms: int = 0,
    cluster: str | None = None,
    topic_id: bytes = METADATA_TOPIC_UUID,
    topic: str = METADATA_TOPIC,
    partition: int = 0,
    replica_id: int = 77,
    version: int = 17,
) -> FetchRequest:
    """An observer's Fetch of the metadata log."""
    wanted = FetchPartition(
        partition=partition,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=1 << 20,
    )
    with_state = version >= 15
    return FetchRequest(
        cluster_id=cluster,
        replica_id=-1 if with_state else replica_id,
        replica_state=ReplicaState(replica_id=replica_id if with_state else -1),
        max_wait_ms=max_wait_ms,
        min_bytes=0,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
    )


def whether_records(response: Any) -> Any:
    """The contents of a log are another matter: here only that there is something."""
    response = steady(response)
    for topic in response["responses"]:
        for partition in topic["partitions"]:
            partition["hasRecords"] = bool(partition.pop("records"))
    return response


@case()
def fetches_of_the_log(probe: Probe) -> None:
    now = epoch_of(probe)
    for version in range(12, 19):
        exchange(probe, fetch_request(0, now, 0, version=version), version, note="from the start", only=whether_records)
    for version in (13, 16):
        for request, note in (
            (fetch_request(0, now, 0, cluster=OTHER_CLUSTER, version=version), "another cluster"),
            (fetch_request(0, now, 0, topic_id=b"\7" * 16, version=version), "another topic"),
            (fetch_request(0, now, 0, partition=1, version=version), "partition 1"),
            (fetch_request(0, 0, 0, version=version), "an old epoch"),
            (fetch_request(0, now + 1, 0, version=version), "an epoch to come"),
            (fetch_request(-1, now, 0, version=version), "no offset"),
            (fetch_request(0, now, -1, version=version), "no last epoch"),
            (fetch_request(0, now, now + 1, version=version), "a last epoch to come"),
            (fetch_request(0, now, 0, max_wait_ms=-1, version=version), "no time"),
            (fetch_request(1 << 40, now, now, version=version), "beyond the end"),
            (fetch_request(3, now, 0, version=version), "an epoch that has no records"),
            (fetch_request(0, now, 0, replica_id=-1, version=version), "a consumer"),
        ):
            exchange(probe, request, version, note=note, only=whether_records)
    exchange(probe, FetchRequest(max_wait_ms=0, topics=[]), 16, note="no topic", only=whether_records)


@case(releases=("3.7.2",))
def fetches_of_old_versions(probe: Probe) -> None:
    now = epoch_of(probe)
    for version in (0, 4, 9, 11):
        exchange(probe, fetch_request(0, now, 0, version=version), version, note="from the start", only=whether_records)


@case()
def a_fetch_that_waits(probe: Probe) -> None:
    now = epoch_of(probe)
    connection = controller(probe)
    response: Any = probe.quiet(fetch_request(0, now, 0, version=16), 16, on=connection)
    high_watermark = response.responses[0].partitions[0].high_watermark
    for _ in range(2):  # there is a record each half second
        waiting = fetch_request(high_watermark, now, now, max_wait_ms=5_000, version=16)
        response = probe.exchange(waiting, 16, on=connection, only=whether_records)
        high_watermark = response.responses[0].partitions[0].high_watermark


def snapshot_request(
    end_offset: int,
    epoch: int,
    *,
    at: int,
    position: int = 0,
    cluster: str | None = None,
    topic: str = METADATA_TOPIC,
    partition: int = 0,
) -> FetchSnapshotRequest:
    """Return a request for a part of a snapshot in the epoch `at`."""
    wanted = PartitionSnapshot(
        partition=partition,
        current_leader_epoch=at,
        snapshot_id=SnapshotId(end_offset=end_offset, epoch=epoch),
        position=position,
    )
    return FetchSnapshotRequest(
        cluster_id=cluster, replica_id=77, topics=[TopicSnapshot(name=topic, partitions=[wanted])]
    )


@case()
def snapshots_that_are_not_there(probe: Probe) -> None:
    now = epoch_of(probe)
    own = cluster_id(probe)
    exchange(probe, snapshot_request(1 << 40, 1, at=now, cluster=own), 0, 1, note="with the cluster's id", only=steady)
    for request, note in (
        (snapshot_request(1 << 40, 1, at=now), "no such snapshot"),
        (snapshot_request(0, 0, at=now), "the bootstrap snapshot"),
        (snapshot_request(9, 1, at=0), "an old epoch"),
        (snapshot_request(9, 1, at=now + 1), "an epoch to come"),
        (snapshot_request(9, 1, at=now, cluster=OTHER_CLUSTER), "another cluster"),
        (snapshot_request(9, 1, at=now, topic="other"), "another topic"),
        (snapshot_request(9, 1, at=now, partition=1), "partition 1"),
    ):
        exchange(probe, request, 0, 1, note=note, only=steady)


@case()
def snapshots_of_odd_topics(probe: Probe) -> None:
    now = epoch_of(probe)
    metadata, other = (
        snapshot_request(1 << 40, 1, at=now, topic=name).topics[0].partitions[0] for name in (METADATA_TOPIC, "other")
    )
    for topics in (
        [("other", []), ("another", [])],
        [("other", [other]), ("another", [])],
        [("other", [other]), (METADATA_TOPIC, [metadata])],
        [("other", []), (METADATA_TOPIC, [metadata])],
        [("other", [other, other]), (METADATA_TOPIC, [metadata])],
        [(METADATA_TOPIC, [metadata]), ("other", [])],
        [(METADATA_TOPIC, [metadata, metadata])],
        [(METADATA_TOPIC, [metadata, metadata]), ("other", [])],
        [(METADATA_TOPIC, [metadata]), (METADATA_TOPIC, [metadata])],
    ):
        request = FetchSnapshotRequest(
            replica_id=77, topics=[TopicSnapshot(name=name, partitions=partitions) for name, partitions in topics]
        )
        note = str([(name, len(partitions)) for name, partitions in topics])
        for version in (0, 1):
            probe.exchange(request, version, on=controller(probe), note=note, only=steady)


@case()
def voters(probe: Probe) -> None:
    now = epoch_of(probe)
    listeners = [add_raft_voter.Listener(name="CONTROLLER", host="127.0.0.1", port=1)]
    added = add_raft_voter.AddRaftVoterRequest(
        cluster_id=None, timeout_ms=1000, voter_id=77, voter_directory_id=b"\7" * 16, listeners=listeners
    )
    exchange(probe, added, 0, 1, note="add")
    removed = remove_raft_voter.RemoveRaftVoterRequest(cluster_id=None, voter_id=77, voter_directory_id=b"\7" * 16)
    exchange(probe, removed, 0, note="remove")
    for request, note in (
        (UpdateRaftVoterRequest(cluster_id=OTHER_CLUSTER, current_leader_epoch=now, voter_id=1), "another cluster"),
        (UpdateRaftVoterRequest(cluster_id=None, current_leader_epoch=0, voter_id=1), "an old epoch"),
        (UpdateRaftVoterRequest(cluster_id=None, current_leader_epoch=now + 1, voter_id=1), "an epoch to come"),
        (UpdateRaftVoterRequest(cluster_id=None, current_leader_epoch=now, voter_id=1), "no directory"),
        (
            UpdateRaftVoterRequest(
                cluster_id=None, current_leader_epoch=now, voter_id=-1, voter_directory_id=b"\7" * 16
            ),
            "missing",
        ),
        (
            UpdateRaftVoterRequest(
                cluster_id=None, current_leader_epoch=now, voter_id=77, voter_directory_id=b"\7" * 16
            ),
            "no listener",
        ),
    ):
        exchange(probe, request, 0, note=note, only=steady)


@case(brokers=3)
def who_does_not_lead(probe: Probe) -> None:
    response: Any = probe.quiet(of((METADATA_TOPIC, (0,))), 1)
    partition = response.topics[0].partitions[0]
    leader, now = partition.leader_id, partition.leader_epoch
    other = next(each for each in (1, 2, 3) if each != leader)

    def anonymous(response: Any) -> Any:
        text = steady(response)
        return _replaced(text, leader)

    for request, version, note in (
        (fetch_request(0, now, 0, version=16), 16, "a fetch"),
        (fetch_request(0, 0, 0, version=16), 16, "a fetch of an old epoch"),
        (snapshot_request(9, 1, at=now), 0, "a snapshot"),
        (vote_request(0), 0, "a vote of an old epoch"),
        (vote_request(now), 0, "a vote of the present epoch"),
        (begin_request(now, leader), 0, "the leader's epoch"),
        (UpdateRaftVoterRequest(cluster_id=None, current_leader_epoch=now, voter_id=1), 0, "a voter"),
    ):
        probe.exchange(request, version, on=controller(probe, other), note=note, only=anonymous)


def _replaced(value: Any, leader: int) -> Any:
    if isinstance(value, dict):
        return {
            name: "<the leader>" if name in {"leaderId", "nodeId"} and item == leader else _replaced(item, leader)
            for name, item in value.items()
        }
    return [_replaced(each, leader) for each in value] if isinstance(value, list) else value


@case(settings=(("num.io.threads", "6"),))
def a_vote_of_a_higher_epoch(probe: Probe) -> None:
    now = epoch_of(probe)
    exchange(probe, vote_request(now + 5), 0, note="a shorter log", only=steady)
    for _ in attempts("a leader"):
        if epoch_of(probe) >= now and _leads(probe):
            break
    later = epoch_of(probe)
    probe.write(epoch_is_higher=later > now)
    exchange(
        probe,
        vote_request(later + 5, last_offset=1 << 40, last_offset_epoch=later),
        0,
        note="a longer log",
        only=steady,
    )


def _leads(probe: Probe) -> bool:
    response: Any = probe.quiet(of((METADATA_TOPIC, (0,))), 1)
    return bool(response.topics[0].partitions[0].leader_id == 1)


def without_bytes(response: Any) -> Any:
    """The contents of a snapshot are another matter."""
    response = steady(response)
    for topic in response["topics"]:
        for partition in topic["partitions"]:
            partition["hasRecords"] = bool(partition.pop("unalignedRecords"))
            partition["size"] = "<some>" if partition["size"] else 0
    return response


def _without_the_start(response: Any) -> Any:
    """How long a log is kept below its snapshots is a matter of segments and time."""
    response = whether_records(response)
    for topic in response["responses"]:
        for partition in topic["partitions"]:
            del partition["logStartOffset"]
    return response


@case(settings=(("metadata.log.max.record.bytes.between.snapshots", "1"),))
def a_snapshot_that_is_there(probe: Probe) -> None:
    probe.topic()
    now = epoch_of(probe)
    for _ in attempts("a snapshot"):
        response: Any = probe.quiet(fetch_request(0, now, 0, version=16), 16, on=controller(probe))
        if response.responses[0].partitions[0].snapshot_id.end_offset > 0:
            break
    version = 17 if probe.release >= "4" else 16
    probe.exchange(fetch_request(0, now, 0, version=version), version, on=controller(probe), only=_without_the_start)
    wanted = response.responses[0].partitions[0].snapshot_id
    for position, note in (
        (0, "from the start"),
        (100, "from the middle"),
        (1 << 30, "beyond the end"),
        (-1, "before"),
    ):
        request = snapshot_request(wanted.end_offset, wanted.epoch, at=now, position=position)
        request.max_bytes = 64
        exchange(probe, request, 0, 1, note=note, only=without_bytes)
