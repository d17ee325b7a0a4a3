"""A cluster that loses its active controller: what was acknowledged stays, what was not committed never was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import (
    BrokerFenced,
    ControllerElected,
    ControllerKilled,
    Detail,
    LeaderElected,
    TopicCreated,
)
from broker_sim.errors import BrokerSimError
from broker_sim.faults.grammar import parse_rule
from broker_sim.links.node_links import LinkFailure
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import alter_partition_reassignments as reassign
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ELECTED_WITHIN_MS = 20_000


class Controlled:
    """Three brokers, three controllers, topic `t` on all brokers."""

    def __init__(self, *, seed: int = 0, controllers: int = 3, release: str = "4.3.1", **options: Any) -> None:
        self.world = World(seed)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            controllers=controllers,
            topics=[TopicSpec(name="t", replication_factor=3)],
            release=release,
            digest=self.world.digest,
            journal_detail=Detail.CLUSTER,
            listen=False,
            **options,
        )
        self.cluster.start()
        self.versions: dict[int, int] = {}
        self.runs: dict[int, object] = {}
        self.run(100)

    @property
    def controllers(self) -> list[int]:
        return list(self.cluster._quorum.nodes)

    def run(self, ms: float) -> None:
        """Let time pass; no broker's metadata ever goes back."""
        end = self.world.reactor.seconds() + ms / 1000
        while (left := end - self.world.reactor.seconds()) > 1e-9:
            self.world.run_for(ms=min(20.0, left * 1000))
            for broker in self.cluster.brokers.values():
                version = broker.metadata_cache.image.version
                if self.runs.get(broker.id) is broker.lifecycle:  # else its process has begun anew
                    assert version >= self.versions[broker.id]
                self.runs[broker.id], self.versions[broker.id] = broker.lifecycle, version

    def run_until(self, condition: Callable[[], Any], *, within_ms: float = ELECTED_WITHIN_MS) -> float:
        started = self.world.reactor.seconds()
        while not condition():
            waited_ms = (self.world.reactor.seconds() - started) * 1000
            assert waited_ms < within_ms, f"not within {within_ms} ms: {self.cluster.pending()}"
            self.run(20)
        return (self.world.reactor.seconds() - started) * 1000

    def elect(self, other_than: int | None = None) -> int:
        self.run_until(lambda: self.cluster.active_controller not in {None, other_than})
        active = self.cluster.active_controller
        assert active is not None
        return active

    def settle(self) -> None:
        self.run_until(lambda: not self.cluster.pending(), within_ms=60_000)

    def settle_brokers(self) -> None:
        self.run(1_000)
        assert not any(broker.fenced for broker in self.cluster.controller.committed_image.brokers.values())

    def send(self, request: Any, *, broker: int = 1, timeout_ms: int = 30_000) -> list[Any]:
        """Forward a client's request; the list has the response, or the failure, when there is one."""
        responses: list[Any] = []
        response = self.cluster.broker(broker).forward_to_controller(request, timeout_ms=timeout_ms)
        response.addBoth(responses.append)
        return responses

    def create(self, *names: str, broker: int = 1, timeout_ms: int = 30_000) -> list[Any]:
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=3, assignments=[], configs=[])
            for name in names
        ]
        return self.send(
            CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms), broker=broker, timeout_ms=timeout_ms
        )

    def describe_quorum(self) -> Any:
        requested = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
        responses = self.send(DescribeQuorumRequest(topics=[requested]))
        self.run_until(lambda: responses)
        return responses[0].topics[0].partitions[0]

    def part(self, first: Sequence[int], second: Sequence[int]) -> None:
        for one in first:
            for other in second:
                self.cluster.links.link(one, other).cut()
                self.cluster.links.link(other, one).cut()

    def join(self) -> None:
        for link in list(self.cluster.links._links.values()):
            link.restore()

    def topics(self) -> list[list[str]]:
        """As each broker that runs knows them."""
        return [sorted(broker.metadata_cache.image.topics) for broker in self.cluster.brokers.values() if broker.alive]


@pytest.fixture
def controlled() -> Iterator[Callable[..., Controlled]]:
    made: list[Controlled] = []

    def make(**options: Any) -> Controlled:
        made.append(Controlled(**options))
        return made[-1]

    yield make
    for one in made:
        one.cluster.close()
        one.world.run_for(ms=10)


@pytest.fixture(params=["3.7.2", "4.3.1"])
def release(request) -> str:
    return request.param


def created(response: Any) -> list[str]:
    """The topics that a response acknowledges."""
    return [topic.name for topic in response.topics if topic.error_code == ErrorCode.NONE]


@pytest.mark.parametrize("controllers", [3, 5])
def test_a_cluster_starts_with_its_first_controller_active(controlled, release, controllers) -> None:
    one = controlled(controllers=controllers, release=release)
    assert one.cluster.active_controller == 3000
    assert one.controllers == list(range(3000, 3000 + controllers))
    assert one.cluster.pending() == []


def test_two_controllers_stop_when_one_dies(controlled) -> None:
    one = controlled(controllers=2)
    one.cluster.kill_controller(3001)
    one.run(10_000)
    assert one.cluster.active_controller is None


def test_a_change_is_seen_when_a_majority_has_it(controlled, release) -> None:
    one = controlled(release=release)
    responses = one.create("u")
    assert one.cluster.controller.image.topics.keys() == {"t", "u"}
    assert one.cluster.controller.committed_image.topics.keys() == {"t"}
    one.run(24)
    assert (responses, one.topics()) == ([], [["t"]] * 3)
    one.run(10)
    assert created(responses[0]) == ["u"]
    assert one.topics() == [["t", "u"]] * 3


def test_the_quorum_is_described_with_its_voters_and_brokers(controlled, release) -> None:
    one = controlled(release=release)
    described = one.describe_quorum()
    assert (described.leader_id, described.leader_epoch) == (3000, 1)
    assert [voter.replica_id for voter in described.current_voters] == [3000, 3001, 3002]
    assert [observer.replica_id for observer in described.observers] == [1, 2, 3]
    ends = {replica.log_end_offset for replica in (*described.current_voters, *described.observers)}
    assert ends == {described.high_watermark}
    one.cluster.kill_controller()
    one.elect()
    described = one.describe_quorum()
    assert described.leader_id in {3001, 3002}
    assert described.leader_epoch > 1
    brokers = one.cluster.controller.committed_image.brokers
    directories = [observer.replica_directory_id for observer in described.observers]
    # Only since 4.0 has the version of the request fields for them.
    known = [brokers[observer.replica_id].log_dirs[0] for observer in described.observers]
    assert directories == ([bytes(16)] * len(known) if release.startswith("3") else known)
    assert {voter.replica_directory_id for voter in described.current_voters} == {bytes(16)}
    dead = next(voter for voter in described.current_voters if voter.replica_id == 3000)
    assert (dead.log_end_offset, dead.last_fetch_timestamp) == (-1, -1)


def test_a_dead_active_controller_is_replaced(controlled, release) -> None:
    one = controlled(release=release)
    assert one.cluster.kill_controller() == 3000
    assert one.cluster.active_controller is None
    assert one.cluster.metrics().value("ActiveControllerCount") == 0
    successor = one.elect()
    assert successor in {3001, 3002}
    assert one.cluster.metrics().value("ActiveControllerCount") == 1
    elected = [event for event in one.cluster.journal.events if isinstance(event, ControllerElected)]
    assert [event.broker_id for event in elected] == [successor]
    assert [event.broker_id for event in one.cluster.journal.events if isinstance(event, ControllerKilled)] == [3000]
    one.cluster.restart_controller(3000)
    one.settle()
    assert one.cluster.active_controller == successor


@pytest.mark.parametrize("dies_after_ms", [0, 10, 24, 26, 40])
def test_no_acknowledged_topic_is_lost_when_the_controller_dies_in_the_middle(
    controlled, release, dies_after_ms
) -> None:
    one = controlled(release=release)
    requested = [one.create(f"u{number}", broker=1 + number % 3) for number in range(6)]
    one.run(dies_after_ms)
    one.cluster.kill_controller()
    one.elect()
    one.run_until(lambda: all(requested))
    # A request that was sent twice fails because the topic exists: the change of its first controller was committed.
    codes = {responses[0].topics[0].error_code for responses in requested}
    assert codes <= {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}
    one.run(1_000)
    assert one.topics() == [["t", *(f"u{number}" for number in range(6))]] * 3
    made = [event.topic for event in one.cluster.journal.events if isinstance(event, TopicCreated)]
    assert sorted(made) == ["t", *(f"u{number}" for number in range(6))]


def test_a_partition_keeps_its_dead_leader_until_a_new_controller_fences_it(controlled, release) -> None:
    one = controlled(release=release)
    one.cluster.kill_controller()
    one.cluster.kill(1)
    while one.cluster.active_controller is None:
        assert one.cluster.leader_of("t", 0) == 1
        one.run(20)
    # The new controller does not know the time of the broker's last heartbeat: its session is a whole one.
    waited_ms = one.run_until(lambda: one.cluster.leader_of("t", 0) != 1)
    assert 8_900 <= waited_ms <= 9_200
    assert one.cluster.registration_of("t", 0).isr == (2, 3)


def test_a_broker_failure_that_the_old_controller_began_to_handle_is_handled_by_the_new_one(controlled) -> None:
    one = controlled()
    one.cluster.kill(1)
    one.run_until(lambda: one.cluster.controller.image.brokers[1].fenced)
    one.cluster.kill_controller()
    elected = [event for event in one.cluster.journal.events if isinstance(event, LeaderElected)]
    assert {event.broker_id for event in elected} == {1}
    one.elect()
    one.run_until(lambda: one.cluster.leader_of("t", 0) == 2)
    one.cluster.restart(1)
    one.cluster.restart_controller(3000)
    one.settle()


def test_a_reassignment_goes_on_under_the_next_controller(controlled, release) -> None:
    one = controlled(release=release, brokers=4)
    partition = reassign.ReassignablePartition(partition_index=0, replicas=[2, 3, 4])
    request = reassign.AlterPartitionReassignmentsRequest(
        timeout_ms=30_000, topics=[reassign.ReassignableTopic(name="t", partitions=[partition])]
    )
    one.cluster.links.isolate(4)
    responses = one.send(request)
    one.run_until(lambda: responses)
    assert responses[0].error_code == ErrorCode.NONE
    assert one.cluster.registration_of("t", 0).is_reassigning
    one.cluster.kill_controller()
    one.elect()
    assert one.cluster.registration_of("t", 0).is_reassigning
    one.cluster.links.rejoin(4)
    one.run_until(lambda: not one.cluster.registration_of("t", 0).is_reassigning, within_ms=60_000)
    assert one.cluster.registration_of("t", 0).replicas == (2, 3, 4)


def test_nothing_is_committed_while_two_of_three_controllers_are_isolated(controlled, release) -> None:
    one = controlled(release=release)
    for node_id in (3001, 3002):
        one.cluster.isolate(node_id)
    versions = dict(one.versions)
    responses = one.create("u", timeout_ms=3_000)
    one.run(59_900)
    assert one.cluster.active_controller is None
    assert responses == []  # real brokers of both releases took 60.1 s, with two of three controllers dead
    one.run(200)
    responses[0].trap(LinkFailure)
    assert one.versions == versions
    for node_id in (3001, 3002):
        one.cluster.rejoin(node_id)
    one.elect()
    responses = one.create("v")
    one.run_until(lambda: responses)
    assert created(responses[0]) == ["v"]
    one.settle()
    # An unacknowledged change may be committed late: the request is in the log of one controller, and that may lead.
    assert one.topics() in ([["t", "v"]] * 3, [["t", "u", "v"]] * 3)


def test_a_controller_in_a_minority_that_still_believes_to_lead_cannot_commit(controlled, release) -> None:
    one = controlled(release=release)
    one.part([3000], [3001, 3002])
    old = one.cluster._quorum.nodes[3000].controller
    responses = one.create("u")
    assert old.image.topics.keys() == {"t", "u"}
    one.run(1_500)
    assert old.is_active
    assert (responses, one.topics()) == ([], [["t"]] * 3)
    successor = one.elect(other_than=3000)
    one.run_until(lambda: responses)
    # The broker has retried, for the new controller had no record of its request.
    assert created(responses[0]) == ["u"]
    assert not old.is_active
    assert old.image.topics.keys() == {"t"}
    one.join()
    one.settle()
    assert one.cluster.active_controller == successor
    one.run(1_000)
    logs = [node.controller.log for node in one.cluster._quorum.nodes.values()]
    assert len({log.high_watermark for log in logs}) == 1
    records = [[each for batch in log.read_committed(0) for each in batch.messages] for log in logs]
    assert records[0] == records[1] == records[2]


def test_a_minority_reports_no_decision_about_brokers(controlled) -> None:
    one = controlled(config={"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"})
    one.part([3000], [3001, 3002])
    one.create("u")  # heartbeats get responses after it, and sessions end for want of a second one
    old = one.cluster._quorum.nodes[3000].controller
    one.run_until(lambda: all(broker.fenced for broker in old.image.brokers.values()), within_ms=3_000)
    assert one.cluster.journal.events_of(BrokerFenced) == []
    one.cluster.kill_controller(3000)
    one.elect()
    one.settle_brokers()
    one.cluster.kill(1)
    one.run_until(lambda: one.cluster.journal.events_of(BrokerFenced))
    assert [event.broker_id for event in one.cluster.journal.events_of(BrokerFenced)] == [1]


def test_an_isolated_active_controller_resigns_and_comes_back_as_a_follower(controlled, release) -> None:
    one = controlled(release=release)
    one.cluster.isolate(3000)
    successor = one.elect(other_than=3000)
    # Brokers whose controller is silent find another in time: no broker is fenced.
    one.run(15_000)
    assert not any(broker.fenced for broker in one.cluster.controller.committed_image.brokers.values())
    one.cluster.rejoin(3000)
    one.settle()
    assert one.cluster.active_controller == successor


def test_a_rule_kills_the_active_controller_and_brings_it_back(controlled) -> None:
    one = controlled()
    faults = one.cluster.faults
    faults.add(parse_rule({"name": "coup", "when": {"delay_ms": 50}, "act": {"kill": "active controller"}}))
    faults.add(
        parse_rule({"name": "back", "when": {"after": "coup", "delay_ms": 5_000}, "act": {"restart": "killed by coup"}})
    )
    one.run(100)
    assert one.cluster.active_controller is None
    one.run(5_100)
    assert one.cluster.active_controller in {3001, 3002}
    one.settle()
    assert [report.fired for report in faults.reports()] == [1, 1]


def test_a_rule_fires_on_the_requests_of_one_controller(controlled) -> None:
    one = controlled()
    one.cluster.faults.add(
        parse_rule(
            {"name": "mute", "select": {"broker": 3001, "api": "Vote", "replica": "any"}, "act": "drop_response"}
        )
    )
    one.cluster.kill_controller()
    one.run(1_000)
    assert one.elect() in {3001, 3002}


def test_producer_ids_are_never_handed_out_twice(controlled) -> None:
    one = controlled()
    blocks = []
    for _ in range(3):
        request = one.cluster.controller.allocate_producer_ids(1)
        blocks.append(request.first)
        one.run(100)
        killed = one.cluster.kill_controller()
        one.elect()
        one.cluster.restart_controller(killed)
        one.run(1_000)
    assert blocks == sorted(set(blocks))


def test_a_restarted_controller_has_the_whole_log_again(controlled) -> None:
    one = controlled()
    responses = one.create("u")
    one.run_until(lambda: responses)
    one.cluster.restart_controller(3002)
    one.run(3_000)
    node = one.cluster._quorum.nodes[3002]
    assert sorted(node.controller.committed_image.topics) == ["t", "u"]


def test_a_cluster_verb_fails_when_no_controller_is_active(controlled) -> None:
    one = controlled()
    one.cluster.kill_controller()
    with pytest.raises(BrokerSimError, match="no active controller to kill"):
        one.cluster.kill_controller()


def test_a_cluster_verb_fails_when_its_controller_is_deposed(controlled) -> None:
    one = controlled()
    one.part([3000], [3001, 3002])
    failures: list[Any] = []
    one.cluster.create_topic(TopicSpec(name="u", replication_factor=3)).addErrback(failures.append)
    one.elect(other_than=3000)
    one.run_until(lambda: failures)
    assert "another controller is active" in failures[0].getErrorMessage()


def test_a_cluster_verb_fails_when_its_controller_ends(controlled) -> None:
    one = controlled()
    failures: list[Any] = []
    one.cluster.create_topic(TopicSpec(name="u", replication_factor=3)).addErrback(failures.append)
    one.cluster.kill_controller(3000)
    assert [failure.getErrorMessage() for failure in failures] == [
        "create topic u: the active controller has ended before this was committed"
    ]
    one.cluster.restart_controller(3000)
    one.settle()


def test_one_seed_is_one_history(controlled) -> None:
    def history() -> str:
        one = controlled(seed=7, link_delay_ms=3.0)
        one.create("u")
        one.run(10)
        one.cluster.kill_controller()
        one.elect()
        one.cluster.restart_controller(3000)
        one.settle()
        return str(one.world.digest.hexdigest())

    assert history() == history()


@pytest.mark.parametrize("seed", range(8))
def test_acknowledged_topics_stay_and_the_cluster_heals_after_any_faults(controlled, seed) -> None:
    """Random deaths, cuts and topics; see `Controlled.run` for what is claimed of versions all the time."""
    random = Random(seed)
    one = controlled(
        seed=seed, release=random.choice(["3.7.2", "4.3.1"]), link_delay_ms=random.choice([0.0, 2.0, 30.0])
    )
    requested: list[list[Any]] = []
    for number in range(25):
        act = random.choice(["create", "create", "kill", "restart", "isolate", "part", "join", "broker", "wait"])
        node_id = random.choice(one.controllers)
        if act == "create":
            alive = [broker.id for broker in one.cluster.brokers.values() if broker.alive]
            requested.append(one.create(f"u{number}", broker=random.choice(alive)))
        elif act == "kill":
            one.cluster.kill_controller(node_id)
        elif act == "restart":
            one.cluster.restart_controller(node_id)
        elif act == "isolate":
            one.cluster.isolate(node_id)
        elif act == "part":
            one.part([node_id], [random.choice([each for each in (*one.controllers, 1, 2, 3) if each != node_id])])
        elif act == "join":
            one.join()
        elif act == "broker":
            one.cluster.restart(random.choice([1, 2, 3]))
        one.run(random.choice([5, 30, 500, 4_000]))
    one.join()
    for node_id in one.controllers:
        if not one.cluster._quorum.nodes[node_id].alive:
            one.cluster.restart_controller(node_id)
    one.settle()
    responses = [each[0] for each in requested if each]
    acknowledged = [name for response in responses if hasattr(response, "topics") for name in created(response)]
    assert set(acknowledged) <= set(one.topics()[0])
    assert all(topics == one.topics()[0] for topics in one.topics())
    made = [event.topic for event in one.cluster.journal.events if isinstance(event, TopicCreated)]
    assert sorted(made) == one.topics()[0]


# Rejected requests.


def test_a_cluster_of_one_controller_cannot_lose_it() -> None:
    world = World(0)
    cluster = Cluster(reactor=world.reactor, streams=world.streams, listen=False)
    assert cluster.active_controller == 3000
    for verb in (cluster.kill_controller, cluster.restart_controller):
        with pytest.raises(BrokerSimError, match="controllers=3"):
            verb(3000)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"controllers": 0}, "controllers: 0 is not between 1 and 9"),
        ({"controllers": 10}, "controllers: 10 is not between 1 and 9"),
        ({"controllers": 3, "release": "2.8"}, "release 2.8.* has ZooKeeper"),
    ],
)
def test_what_cannot_be_a_quorum_is_refused(options, reason) -> None:
    world = World(0)
    with pytest.raises(BrokerSimError, match=reason):
        Cluster(reactor=world.reactor, streams=world.streams, listen=False, **options)


def test_an_unknown_controller_is_refused_by_name(controlled) -> None:
    one = controlled()
    with pytest.raises(BrokerSimError, match=r"no controller 3003: they are \[3000, 3001, 3002\]"):
        one.cluster.kill_controller(3003)
    with pytest.raises(BrokerSimError, match="no broker 3003"):
        one.cluster.isolate(3003)


def test_one_controller_needs_no_quorum_and_does_not_load_it() -> None:
    program = (
        "import sys; from broker_sim.cluster import Cluster; from sim_runtime.world import World; world = World(0);"
        "cluster = Cluster(reactor=world.reactor, streams=world.streams, listen=False); cluster.start();"
        "world.run_for(ms=1_000); print([name for name in sys.modules if 'controller.group' in name])"
    )
    root = Path(__file__).parents[4]
    ran = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
