"""Elections and commits of a quorum, with messages in order, late and lost."""

from __future__ import annotations

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.quorum.epoch_states import EpochState
from broker_sim.quorum.raft_log import OffsetAndEpoch
from broker_sim.quorum.raft_messages import METADATA_TOPIC_ID, RaftMessages
from broker_sim.quorum.raft_outputs import SendResponse
from broker_sim.quorum.raft_replica import NotLeader
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from protocol_specs.messages.end_quorum_epoch import EndQuorumEpochRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.vote import VoteRequest

RELEASES = ("3.7.2", "4.3.1")


@pytest.fixture(params=RELEASES)
def release(request) -> str:
    return request.param


@pytest.mark.parametrize("voters", [1, 3, 5])
def test_a_new_quorum_elects_a_leader_and_commits_a_leader_change(quorum, release, voters) -> None:
    quorum = quorum(voters=voters, release=release)
    leader = quorum.elect(within_ms=5_000)
    quorum.run(1_000)
    first = quorum.seen[leader].committed[0]
    assert first.is_control
    assert first.content.leader_id == leader
    assert len(first.content.granting_voters) > voters // 2
    assert all(replica.leader_id == leader for replica in quorum.replicas.values())


def test_the_only_voter_leads_at_once(quorum, release) -> None:
    assert quorum(voters=1, release=release).leader == 1


def test_what_is_appended_is_committed_after_the_linger_by_a_majority(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.run(600)
    quorum.append(leader, "a")
    quorum.append(leader, "b")
    quorum.run(24)
    assert quorum.contents(leader) == []
    quorum.run(10)
    assert quorum.contents(leader) == ["a", "b"]
    quorum.run(600)
    assert all(quorum.contents(voter) == ["a", "b"] for voter in quorum.voters)


def test_only_the_leader_appends(quorum, release) -> None:
    quorum = quorum(release=release)
    follower = next(voter for voter in quorum.voters if voter != quorum.elect())
    with pytest.raises(NotLeader, match="FOLLOWER"):
        quorum.append(follower, "a")


def test_a_dead_leader_is_replaced_and_nothing_committed_is_lost(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.append(leader, "a")
    quorum.run(100)
    quorum.kill(leader)
    successor = quorum.elect(within_ms=10_000)
    quorum.append(successor, "b")
    quorum.run(100)
    assert quorum.contents(successor) == ["a", "b"]
    quorum.start(leader)
    quorum.run(3_000)
    assert quorum.contents(leader) == ["a", "b"]


def test_a_leader_without_a_majority_commits_nothing_and_resigns(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.run(600)
    quorum.isolate(leader)
    quorum.append(leader, "lost")
    quorum.run(2_900)
    assert quorum.replicas[leader].state is EpochState.LEADER
    quorum.run(700)
    assert quorum.replicas[leader].state is not EpochState.LEADER
    assert quorum.contents(leader) == []


def test_an_uncommitted_tail_is_truncated_when_its_writer_comes_back(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.run(600)
    quorum.isolate(leader)
    quorum.append(leader, "lost")
    quorum.run(100)
    end = quorum.replicas[leader].log.end_offset
    successor = quorum.run_until(lambda: quorum.leader not in {None, leader}, within_ms=20_000) and quorum.leader
    quorum.append(successor, "kept")
    quorum.run(100)
    quorum.heal()
    quorum.run(5_000)
    assert quorum.replicas[leader].log.batches[end - 1].content != "lost"
    assert all(quorum.contents(voter) == ["kept"] for voter in quorum.voters)


def test_two_of_five_that_are_cut_off_elect_no_leader(quorum, release) -> None:
    quorum = quorum(voters=5, release=release)
    leader = quorum.elect()
    minority = [voter for voter in quorum.voters if voter != leader][:2]
    for voter in minority:
        for other in quorum.voters:
            if other not in minority:
                quorum.cut(voter, other)
    quorum.run(30_000)
    assert all(quorum.replicas[voter].state is not EpochState.LEADER for voter in minority)
    majority = [voter for voter in quorum.voters if voter not in minority]
    leading = next(voter for voter in majority if quorum.replicas[voter].state is EpochState.LEADER)
    quorum.append(leading, "a")
    quorum.run(100)
    assert quorum.contents(leading) == ["a"]


def test_a_voter_that_was_cut_off_does_not_disturb_the_epoch_with_pre_votes(quorum) -> None:
    quorum = quorum(release="4.3.1")
    leader = quorum.elect()
    epoch = quorum.replicas[leader].epoch
    follower = next(voter for voter in quorum.voters if voter != leader)
    quorum.run(600)
    quorum.isolate(follower)
    quorum.run(20_000)
    assert quorum.replicas[follower].epoch == epoch
    quorum.heal()
    quorum.run(5_000)
    assert {replica.epoch for replica in quorum.replicas.values()} == {epoch}
    assert quorum.leader == leader


def test_a_voter_that_was_cut_off_raises_the_epoch_without_pre_votes(quorum) -> None:
    quorum = quorum(release="3.7.2")
    leader = quorum.elect()
    epoch = quorum.replicas[leader].epoch
    follower = next(voter for voter in quorum.voters if voter != leader)
    quorum.isolate(follower)
    quorum.run(20_000)
    assert quorum.replicas[follower].epoch > epoch
    quorum.heal()
    quorum.run(10_000)
    assert quorum.replicas[quorum.elect()].epoch > epoch


def test_a_leader_that_resigns_is_followed_by_the_longest_log_within_an_election(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.run(600)
    quorum.resign(leader)
    assert quorum.replicas[leader].state is EpochState.RESIGNED
    assert quorum.seen[leader].leaders[-1][1] == -1
    assert quorum.run_until(lambda: quorum.leader not in {None, leader}, within_ms=3_000) < 1_000


def test_a_leader_that_starts_again_has_resigned(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    epoch = quorum.replicas[leader].epoch
    quorum.run(100)
    quorum.kill(leader)
    quorum.start(leader)
    assert quorum.replicas[leader].state is EpochState.RESIGNED
    assert quorum.replicas[leader].epoch == epoch
    quorum.elect(within_ms=10_000)


def test_the_vote_of_an_epoch_outlives_the_process(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    follower = next(voter for voter in quorum.voters if voter != leader)
    quorum.kill(follower)
    quorum.start(follower)
    assert quorum.replicas[follower].state is EpochState.FOLLOWER
    assert quorum.replicas[follower].leader_id == leader
    assert quorum.storages[follower].quorum_state.leader_id == leader


def test_a_new_leader_is_notified_after_all_records_before_its_epoch(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.run(600)
    quorum.append(leader, "a")
    quorum.run(100)
    quorum.kill(leader)
    successor = quorum.elect()
    quorum.run_until(lambda: quorum.seen[successor].leaders[-1][1] == successor, within_ms=1_000)
    assert quorum.contents(successor) == ["a"]


def test_nothing_but_fetches_goes_on_while_nothing_happens(quorum, release) -> None:
    quorum = quorum(release=release)
    quorum.elect()
    quorum.run(3_000)
    epochs = {voter: replica.epoch for voter, replica in quorum.replicas.items()}
    kinds = set()
    for _ in range(1_000):
        quorum.run(10)
        kinds |= {type(packet.request) for packet in quorum.packets if packet.request is not None}
    assert kinds == {FetchRequest}
    assert {voter: replica.epoch for voter, replica in quorum.replicas.items()} == epochs


# The responses to single requests.


def response(quorum, voter: int, request) -> object:
    replica = quorum.replicas[voter]
    replica.receive_request(99, 1, request, quorum.now_ms)
    responses = [each for each in replica.take_outbox() if isinstance(each, SendResponse) and each.destination == 99]
    return responses[0].response if responses else None


def messages_of(node_id: int, *, release: str = "4.3.1", cluster_id: str = "quorum-under-test") -> RaftMessages:
    return RaftMessages(release=release, cluster_id=cluster_id, node_id=node_id, directory_id=bytes(16))


def vote(quorum, voter: int, *, candidate: int = 3, epoch: int, end=(100, 1), pre_vote: bool = False, to: int = -1):
    request = messages_of(candidate).vote_request(to, epoch=epoch, log_end=OffsetAndEpoch(*end), pre_vote=pre_vote)
    return response(quorum, voter, request).topics[0].partitions[0]


def test_one_vote_is_given_in_an_epoch(quorum, release) -> None:
    quorum = quorum(release=release)
    assert vote(quorum, 1, candidate=3, epoch=5).vote_granted
    assert vote(quorum, 1, candidate=3, epoch=5).vote_granted
    assert not vote(quorum, 1, candidate=2, epoch=5).vote_granted
    assert vote(quorum, 1, candidate=2, epoch=6).vote_granted


def test_a_vote_outlives_a_crash(quorum, release) -> None:
    quorum = quorum(release=release)
    assert vote(quorum, 1, candidate=3, epoch=5).vote_granted
    quorum.kill(1)
    quorum.start(1)
    assert not vote(quorum, 1, candidate=2, epoch=5).vote_granted


def test_a_candidate_with_a_shorter_log_gets_no_vote_but_its_epoch_is_taken(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.append(leader, "a")
    quorum.run(600)
    voter = next(each for each in quorum.voters if each != leader)
    requested = vote(quorum, voter, epoch=9, end=(1, 1))
    assert (requested.vote_granted, requested.leader_epoch, requested.error_code) == (False, 9, 0)


def test_an_old_epoch_is_fenced_and_learns_of_the_leader(quorum, release) -> None:
    quorum = quorum(release=release)
    leader = quorum.elect()
    quorum.kill(leader)
    leader = quorum.elect()
    requested = vote(quorum, leader, epoch=1, end=(0, 0))
    assert requested.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (requested.leader_id, requested.leader_epoch) == (leader, quorum.replicas[leader].epoch)


def test_a_pre_vote_changes_nothing(quorum) -> None:
    quorum = quorum(release="4.3.1")
    assert vote(quorum, 1, candidate=3, epoch=0, end=(100, 0), pre_vote=True).vote_granted
    assert vote(quorum, 1, candidate=2, epoch=0, end=(100, 0), pre_vote=True).vote_granted
    assert quorum.storages[1].quorum_state.voted_id == -1


def test_a_follower_in_contact_with_its_leader_refuses_pre_votes(quorum) -> None:
    quorum = quorum(release="4.3.1")
    leader = quorum.elect()
    quorum.run(1_000)
    follower = next(each for each in quorum.voters if each != leader)
    assert not vote(quorum, follower, epoch=quorum.replicas[leader].epoch, pre_vote=True).vote_granted


@pytest.mark.parametrize(
    ("epoch", "end", "pre_vote"), [(5, (1, 5), False), (5, (-1, 1), False), (5, (1, -1), False), (5, (1, 6), True)]
)
def test_a_vote_that_cannot_be_is_invalid(quorum, epoch, end, pre_vote) -> None:
    assert vote(quorum(), 1, epoch=epoch, end=end, pre_vote=pre_vote).error_code == ErrorCode.INVALID_REQUEST


def test_a_vote_request_for_another_voter_is_refused(quorum) -> None:
    assert vote(quorum(), 1, epoch=5, to=2).error_code == ErrorCode.INVALID_VOTER_KEY


def requests_of(messages: RaftMessages) -> list[object]:
    end = OffsetAndEpoch(0, 0)
    return [
        messages.vote_request(-1, epoch=1, log_end=end, pre_vote=False),
        messages.begin_request(-1, epoch=1),
        messages.end_request(epoch=1, successors=[]),
        messages.fetch_request(epoch=1, log_end=end, high_watermark=-1, max_wait_ms=0),
    ]


def test_another_clusters_messages_are_refused_as_a_whole(quorum) -> None:
    for request in requests_of(messages_of(2, cluster_id="another")):
        assert response(quorum(), 1, request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_other_partitions_are_invalid(quorum) -> None:
    for request in requests_of(messages_of(2)):
        request.topics.append(request.topics[0])
        assert response(quorum(), 1, request).error_code == ErrorCode.INVALID_REQUEST


def test_a_request_of_another_api_is_a_mistake(quorum) -> None:
    with pytest.raises(BrokerSimError, match="does not serve ApiVersionsRequest"):
        response(quorum(), 1, ApiVersionsRequest())


@pytest.mark.parametrize("requested", [{"epoch": 9}, {"epoch": 0}])
def test_a_fetch_of_another_epoch_is_refused(quorum, requested) -> None:
    quorum = quorum()
    leader = quorum.elect()
    request = messages_of(99).fetch_request(
        log_end=quorum.storages[leader].log.end._replace(epoch=0, offset=0),
        high_watermark=-1,
        max_wait_ms=0,
        **requested,
    )
    partition = response(quorum, leader, request).responses[0].partitions[0]
    expected = ErrorCode.UNKNOWN_LEADER_EPOCH if requested["epoch"] else ErrorCode.FENCED_LEADER_EPOCH
    assert partition.error_code == expected
    assert partition.current_leader.leader_id == leader


def test_every_message_has_an_encoding_in_its_version(release) -> None:
    messages = messages_of(1, release=release)
    by_type = {VoteRequest: 52, BeginQuorumEpochRequest: 53, EndQuorumEpochRequest: 54, FetchRequest: 1}
    for request in requests_of(messages):
        version = messages.versions[by_type[type(request)]]
        decoded = type(request).decode(version, request.encode(version))
        assert decoded.topics[0].partitions[0] is not None
    assert METADATA_TOPIC_ID.hex().endswith("01")


def test_a_voter_is_one_of_the_voters(quorum) -> None:
    quorum = quorum()
    quorum.voters.append(7)
    quorum.storages[9] = quorum.storages[1]
    with pytest.raises(BrokerSimError, match="node 9 is none of the voters"):
        quorum.start(9)
