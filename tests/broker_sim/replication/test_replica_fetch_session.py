"""Requests of followers to leaders are the protocol's own: encoded and decoded they get the same responses."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import RequestReceived, ResponseSent
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.log.replica_log import ReplicaLog
from broker_sim.replication.follower_versions import FollowerVersions
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

if TYPE_CHECKING:
    from protocol_specs.message import Message

Make = Any
RELEASES = ("3.7.2", "4.3.1")
UNCLEAN = {"unclean.leader.election.enable": "true"}


def carried(message: Message, version: int) -> Any:
    """Return the message after encoding and decoding; encoded again it is the same bytes."""
    sent = _with_bytes(message) if isinstance(message, FetchResponse) else message
    encoded = sent.encode(version)
    arrived = type(message).decode(version, encoded)
    assert arrived.encode(version) == encoded
    return arrived


def _with_bytes(response: FetchResponse) -> FetchResponse:
    whole = deepcopy(response)
    for topic in whole.responses:
        for partition in topic.partitions:
            if isinstance(partition.records, list):
                partition.records = b"".join(partition.records)
    return whole


class Overheard:
    """Every request of the client protocol between brokers, with its version and its response."""

    def __init__(self, cluster: Any) -> None:
        self.requests: list[tuple[Message, int]] = []
        self.responses: list[tuple[Message, int]] = []
        links = cluster.cluster.links
        call = links.call

        def recording(
            source: int,
            target: int,
            request: Any,
            on_response: Any,
            on_failure: Any,
            version: int = 0,
            *options: Any,
            **named: Any,
        ) -> None:
            def responded(response: Any, number: int) -> None:
                self.responses.append((response, version))
                on_response(response, number)

            of_partitions = isinstance(request, FetchRequest | ListOffsetsRequest | OffsetForLeaderEpochRequest)
            recorded = of_partitions and target != CONTROLLER_ID
            if recorded:
                self.requests.append((request, version))
            handler = responded if recorded else on_response
            call(source, target, request, handler, on_failure, version, *options, **named)

        links.call = recording

    def versions(self) -> dict[str, int]:
        return {request.NAME: version for request, version in self.requests}


def part_and_meet(cluster: Any) -> None:
    """Two brokers lead in turn, alone; in the end the second follows the first again."""
    cluster.produce(0)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    for value in (10, 11):
        cluster.produce(value, broker=2)
    cluster.cluster.kill(2)
    cluster.run(ms=10_000)
    cluster.cluster.restart(1)
    cluster.run(ms=1_000)
    for value in (20, 21, 22):
        cluster.produce(value, broker=1)
    cluster.cluster.restart(2)
    cluster.settle()


def fall_behind(cluster: Any) -> None:
    """A follower comes back when its leader has deleted where it was."""
    cluster.produce(0)
    cluster.cluster.kill(2)
    cluster.run(ms=20_000)
    for value in (1, 2, 3):
        cluster.produce(value)
    deleted = cluster.cluster.broker(1).replica_manager.delete_records({cluster.topic: 3}, timeout_ms=1_000)
    assert not isinstance(deleted, Deferred)
    cluster.cluster.restart(2)
    cluster.settle()
    assert cluster.values(2) == [3]


def speak(cluster: Any, **versions: int | None) -> None:
    """Let all brokers speak as those of an older release, when they are booted again and now."""
    for broker in cluster.cluster.brokers.values():
        boot = broker._boot_parts

        def boot_older(broker: Any = broker, boot: Any = boot) -> None:
            boot()
            broker.replica_manager.follower_versions = FollowerVersions(**versions)

        broker._boot_parts = boot_older
        broker.replica_manager.follower_versions = FollowerVersions(**versions)


# Before 3.9 KRaft elects no leader outside of the ISR: there the leaders would not part.
@pytest.mark.parametrize(
    ("story", "release"),
    [(part_and_meet, "3.9"), (part_and_meet, "4.3.1"), *((fall_behind, release) for release in RELEASES)],
)
def test_every_message_of_a_follower_can_go_over_a_wire(replicas: Make, release: str, story: Any) -> None:
    cluster = replicas(topic_config=UNCLEAN, brokers=2, replication_factor=2, release=release)
    overheard = Overheard(cluster)
    story(cluster)
    table = cluster.cluster.broker(1).release.api_versions
    assert len(overheard.responses) >= 2
    for message, version in [*overheard.requests, *overheard.responses]:
        assert version in table[message.API_KEY]
        carried(message, version)


def test_followers_use_the_newest_versions_of_their_release(replicas: Make) -> None:
    for release, expected in (("3.7.2", {"Fetch": 16, "ListOffsets": 8}), ("4.3.1", {"Fetch": 18, "ListOffsets": 11})):
        cluster = replicas(topic_config=UNCLEAN, brokers=2, replication_factor=2, release=release)
        overheard = Overheard(cluster)
        fall_behind(cluster)
        assert overheard.versions() == expected


def test_a_follower_names_itself_and_its_epoch(replicas: Make) -> None:
    cluster = replicas()
    overheard = Overheard(cluster)
    cluster.produce(0)
    cluster.run(ms=1)
    state = overheard.requests[-1][0].replica_state
    epoch = cluster.cluster.broker(state.replica_id).broker_epoch
    assert (state.replica_id in {2, 3}, state.replica_epoch) == (True, epoch)


def test_the_journal_shows_version_and_link(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.run(ms=1)
    received, responded = (
        [each for each in cluster.journal.events_of(kind) if each.api == "Fetch" and each.broker_id != CONTROLLER_ID]
        for kind in (RequestReceived, ResponseSent)
    )
    assert {(event.api_version, event.broker_id, event.connection_id) for event in received} == {
        (18, 1, "link:2-1"),
        (18, 1, "link:3-1"),
    }
    assert {event.connection_id for event in responded} == {"link:2-1", "link:3-1"}


# Over a link and over a wire ----------------------------------------------------------------------------------


def by_wire(cluster: Any, request: Message, version: int, *, broker: int = 1) -> Any:
    """Return a client's response to this request, encoded and decoded."""
    requested = cluster.cluster.broker(broker)
    received = carried(request, version)
    sent = cluster.world.run_until(PlainCalls(requested).call(received, version), deadline_ms=5_000)
    return carried(sent, version)


def by_link(cluster: Any, request: Message, version: int, *, source: int, broker: int = 1) -> Any:
    """Return a broker's response to this request, encoded and decoded."""
    requested = cluster.cluster.links.send(source, broker, request, version=version)
    sent = cluster.world.run_until(requested, deadline_ms=5_000)
    return carried(sent, version)


def fetch_of(cluster: Any, version: int, *, replica: int, **fields: Any) -> FetchRequest:
    topic_id = fields.pop("topic_id", cluster.partition(1).topic_id)
    partition = FetchPartition(
        **{
            "partition": 0,
            "fetch_offset": 0,
            "partition_max_bytes": 1_000_000,
            "current_leader_epoch": 0,
            "log_start_offset": 0,
            **fields,
        }
    )
    request = FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1_000_000,
        session_id=0,
        session_epoch=0,
        topics=[FetchTopic(topic="t", topic_id=topic_id, partitions=[partition])],
    )
    epoch = cluster.cluster.broker(2).broker_epoch
    request.replica_state = ReplicaState(replica_id=replica, replica_epoch=epoch)
    return request


def shown(response: Any) -> list[tuple[bytes, PartitionData]]:
    found = []
    for topic in response.responses:
        for partition in topic.partitions:
            partition.records = bytes(partition.records or b"")
            found.append((topic.topic_id, partition))
    return found


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("replica", "requested", "error"),
    [
        pytest.param(2, {}, 0, id="from the start"),
        pytest.param(2, {"fetch_offset": 2}, 0, id="from the middle"),
        pytest.param(2, {"fetch_offset": 1, "last_fetched_epoch": 0}, 0, id="after a record of epoch 0"),
        pytest.param(2, {"fetch_offset": 9, "last_fetched_epoch": 0}, 0, id="diverging"),
        pytest.param(2, {"fetch_offset": 1, "last_fetched_epoch": 5}, 1, id="after an unknown epoch"),
        pytest.param(2, {"fetch_offset": 9}, 1, id="beyond the end"),
        pytest.param(2, {"current_leader_epoch": 1}, 76 - 1, id="in an epoch to come"),
        pytest.param(2, {"partition_max_bytes": 1}, 0, id="a byte at most"),
        pytest.param(4, {}, 75, id="no replica"),
        pytest.param(2, {"topic_id": b"\7" * 16}, 100, id="an unknown topic"),
        pytest.param(2, {"partition": 7}, 3, id="an unknown partition"),
    ],
)
def test_a_fetch_over_a_link_gets_the_response_of_one_over_tcp(
    replicas: Make, release: str, replica: int, requested: dict[str, Any], error: int
) -> None:
    cluster = replicas(release=release, brokers=4)
    for value in range(3):
        cluster.produce(value)
    cluster.cluster.links.link(2, 1).hold()  # the real follower keeps out of it
    cluster.run(ms=600)
    cluster.cluster.links.link(2, 1).release()
    version = {"3.7.2": 16, "4.3.1": 18}[release]
    wire = shown(by_wire(cluster, fetch_of(cluster, version, replica=replica, **requested), version))
    link = shown(by_link(cluster, fetch_of(cluster, version, replica=replica, **requested), version, source=replica))
    assert [partition.error_code for _, partition in wire] == [error]
    assert link == wire


def test_a_deposed_leader_returns_the_new_leader_to_followers_and_clients(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    cluster.cluster.restart(1)
    cluster.run(ms=2_000)
    assert cluster.leader() == 2
    for epoch, error in ((0, ErrorCode.FENCED_LEADER_EPOCH), (1, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        epoch_now = cluster.partition(1).leader_epoch if epoch else 0
        request = fetch_of(cluster, 18, replica=2, current_leader_epoch=epoch_now)
        (wire,) = shown(by_wire(cluster, request, 18))
        (link,) = shown(by_link(cluster, request, 18, source=2))
        assert (wire[1].error_code, wire[1].current_leader.leader_id) == (error, 2)
        assert link == wire


@pytest.mark.parametrize("timestamp", [-1, -2, 0])
@pytest.mark.parametrize("epoch", [0, 1])
def test_offsets_are_listed_for_followers_as_for_clients(replicas: Make, timestamp: int, epoch: int) -> None:
    cluster = replicas()
    for value in range(3):
        cluster.produce(value)
    cluster.hold_fetches(2, 3)
    cluster.produce(3, acks=1)
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=epoch)
    request = ListOffsetsRequest(replica_id=3, topics=[ListOffsetsTopic(name="t", partitions=[partition])])
    cluster.release_fetches(2, 3)
    assert by_link(cluster, request, 11, source=3) == by_wire(cluster, request, 11)


@pytest.mark.parametrize("current", [-1, 0, 1])
def test_followers_get_the_epochs_that_clients_get(replicas: Make, current: int) -> None:
    cluster = replicas()
    cluster.produce(0)
    partition = OffsetForLeaderPartition(partition=0, leader_epoch=0, current_leader_epoch=current)
    request = OffsetForLeaderEpochRequest(
        replica_id=2, topics=[OffsetForLeaderTopic(topic="t", partitions=[partition])]
    )
    assert by_link(cluster, request, 4, source=2) == by_wire(cluster, request, 4)


# Before Fetch v12 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fetch", "epochs"), [(11, 3), (10, 2), (8, 1)])
def test_before_fetch_12_a_follower_requests_the_end_of_its_epoch(replicas: Make, fetch: int, epochs: int) -> None:
    cluster = replicas(topic_config=UNCLEAN, brokers=2, replication_factor=2)
    speak(cluster, fetch=fetch, list_offsets=4, offset_for_leader_epoch=epochs)
    overheard = Overheard(cluster)
    part_and_meet(cluster)
    assert cluster.values(1) == cluster.values(2) == [0, 20, 21, 22]
    assert overheard.versions()["OffsetForLeaderEpoch"] == epochs
    fetched = [request for request, _ in overheard.requests if isinstance(request, FetchRequest)]
    requested = [partition for request in fetched for topic in request.topics for partition in topic.partitions]
    assert {partition.last_fetched_epoch for partition in requested} == {-1}
    assert any(partition.current_leader_epoch >= 0 for partition in requested) == (fetch >= 9)
    for message, version in [*overheard.requests, *overheard.responses]:
        carried(message, version)


def test_a_failed_request_for_an_epoch_is_retried(replicas: Make) -> None:
    cluster = replicas(brokers=2, replication_factor=2, config={"replica.fetch.backoff.ms": "300"})
    speak(cluster, fetch=11, list_offsets=5, offset_for_leader_epoch=3)
    cluster.produce(0)
    cluster.cluster.kill(2)
    cluster.run(ms=10_000)
    cluster.produce(1, acks=1)
    cluster.cluster.links.link(1, 2).cut()
    cluster.cluster.links.link(2, 1).cut()
    cluster.cluster.restart(2)
    cluster.run(ms=1_000)
    cluster.cluster.links.link(1, 2).restore()
    cluster.cluster.links.link(2, 1).restore()
    cluster.run(ms=299)
    assert cluster.values(2) == [0]
    cluster.run(ms=2)
    assert cluster.values(2) == [0, 1]


def test_before_leader_epochs_a_follower_cuts_at_its_own_high_watermark(replicas: Make) -> None:
    """Which loses what was acknowledged: the story that KIP-101 begins with."""
    lost: dict[int | None, list[int]] = {}
    for epochs in (None, 0):
        cluster = replicas(brokers=2, replication_factor=2, link_delay_ms=1)
        speak(cluster, fetch=5, list_offsets=1, offset_for_leader_epoch=epochs)
        cluster.produce(0)
        cluster.run(ms=1_000)
        assert cluster.produce(1).error_code is ErrorCode.NONE
        assert (cluster.high_watermark(1), cluster.high_watermark(2)) == (2, 1)
        restarted = cluster.cluster.restart(2)
        cluster.world.run_until(restarted, deadline_ms=20_000)
        cluster.cluster.kill(1)
        cluster.run(ms=1)
        lost[epochs] = cluster.values(2)
    assert lost == {None: [0], 0: [0, 1]}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.10.2.2", {"Fetch": 3}),
        ("1.1.1", {"Fetch": 7, "OffsetForLeaderEpoch": 0}),
        ("2.6.3", {"Fetch": 11, "OffsetForLeaderEpoch": 3}),
        ("2.8.2", {"Fetch": 12}),
        ("3.9.2", {"Fetch": 17}),
    ],
)
def test_every_release_has_followers_of_its_time(replicas: Make, release: str, expected: dict[str, int]) -> None:
    cluster = replicas(brokers=2, replication_factor=2, release=release, topic_config={"min.insync.replicas": "1"})
    for value in range(3):
        cluster.produce(value)
    overheard = Overheard(cluster)
    restarted = cluster.cluster.restart(2)
    cluster.world.run_until(restarted, deadline_ms=60_000)
    cluster.settle(within_ms=60_000)
    assert overheard.versions() == expected
    assert cluster.values(2) == cluster.values(1)
    for message, version in [*overheard.requests, *overheard.responses]:
        carried(message, version)


# The shared read ----------------------------------------------------------------------------------------------


def change_the_log(cluster: Any) -> None:
    """Followers read after appends, a moved log start, a truncation of the tail and a new one of the same length."""
    for value in (0, 1, 2):
        cluster.produce(value)
    cluster.cluster.broker(1).replica_manager.delete_records({cluster.topic: 2}, timeout_ms=1_000)
    cluster.run(ms=1_000)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    cluster.produce(10, broker=cluster.leader())
    cluster.cluster.restart(1)
    cluster.settle()


@pytest.mark.parametrize("story", [part_and_meet, fall_behind, change_the_log])
def test_a_shared_read_is_what_each_follower_would_read(
    replicas: Make, monkeypatch: pytest.MonkeyPatch, story: Any
) -> None:
    count = 3 if story is change_the_log else 2
    exchanged = []
    for shares in (True, False):
        with monkeypatch.context() as patched:
            if not shares:
                patched.setattr(ReplicaLog, "follower_read", property(lambda _: None, lambda *_: None))
            cluster = replicas(topic_config=UNCLEAN, brokers=count, replication_factor=count)
            overheard = Overheard(cluster)
            story(cluster)
            exchanged.append([*overheard.requests, *overheard.responses])
    assert exchanged[0] == exchanged[1]


def test_followers_at_one_offset_share_a_read(replicas: Make) -> None:
    cluster = replicas()
    overheard = Overheard(cluster)
    for value in (0, 1):  # the responses to the Fetches that were parked before are not recorded
        cluster.produce(value)
    data = [
        data
        for response, _ in overheard.responses
        for topic in response.responses
        for data in topic.partitions
        if data.records
    ]
    assert len(data) == 2
    assert data[0] is data[1]


def test_a_change_of_the_log_ends_a_shared_read(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    log = cluster.cluster.log_of(1, *cluster.topic)
    assert log.follower_read is not None
    log.truncate_to(0)
    assert log.follower_read is None
