"""The traffic between leader and followers: sessions, parking, backoff, truncation step by step."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.cluster import TopicSpec
from broker_sim.control.events import Detail, LogTruncated, RequestReceived
from broker_sim.topic_partition import TopicPartition
from protocol_specs.messages.fetch import FetchRequest, FetchResponse

Make = Any


def fetches_from(cluster: Any, follower: int) -> int:
    return sum(
        1
        for event in cluster.journal.events_of(RequestReceived)
        if event.api == "Fetch" and event.replica_id == follower and event.broker_id == 1
    )


class Recorder:
    """Every Fetch and its response between two brokers."""

    def __init__(self, cluster: Any, source: int, target: int) -> None:
        self.requests: list[FetchRequest] = []
        self.responses: list[FetchResponse] = []
        links = cluster.cluster.links
        call = links.call

        def recording(sender: int, receiver: int, request: Any, on_response: Any, *options: Any, **named: Any) -> None:
            def responded(response: Any, number: int) -> None:
                self.responses.append(response)
                on_response(response, number)

            recorded = (sender, receiver) == (source, target) and isinstance(request, FetchRequest)
            if recorded:
                self.requests.append(request)
            call(sender, receiver, request, responded if recorded else on_response, *options, **named)

        links.call = recording


def test_an_idle_follower_parks_one_fetch_and_is_silent(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.run(ms=1_000)
    before = fetches_from(cluster, 2)
    cluster.run(ms=600_000)
    assert fetches_from(cluster, 2) == before


def test_a_fetch_names_only_what_has_changed_since_the_last(replicas: Make) -> None:
    cluster = replicas(partitions=9)
    recorder = Recorder(cluster, 2, 1)
    cluster.produce(0)
    cluster.run(ms=1)
    (request,) = recorder.requests
    assert [(topic.topic, [requested.partition for requested in topic.partitions]) for topic in request.topics] == [
        ("t", [0])
    ]
    assert request.session_epoch == 1


@pytest.mark.parametrize(("acks", "fetches"), [(1, 1), (-1, 10)])
def test_one_response_carries_what_one_loop_iteration_has_appended(replicas: Make, acks: int, fetches: int) -> None:
    cluster = replicas()
    before = fetches_from(cluster, 2)
    for value in range(10):
        cluster.send(value, acks=acks)
    cluster.run(ms=1)
    # With acks=all each append waits for its followers, so that they are woken by each.
    assert fetches_from(cluster, 2) == before + fetches
    assert cluster.values(2) == list(range(10))


def test_a_new_topic_does_not_wait_for_the_parked_fetch(replicas: Make) -> None:
    cluster = replicas()
    cluster.run(ms=1_000)
    created = cluster.cluster.create_topic(TopicSpec(name="u", replication_factor=3))
    cluster.world.run_until(created, deadline_ms=10)
    cluster.topic = TopicPartition("u", 0)
    results = cluster.send(0)
    cluster.run(ms=1)
    assert results[0].base_offset == 0


def test_followers_share_the_leaders_batches(replicas: Make) -> None:
    for detail in Detail:
        cluster = replicas(detail=detail)
        cluster.produce(0)
        logs = [cluster.cluster.log_of(broker, *cluster.topic) for broker in (1, 2, 3)]
        first = [next(iter(log.batches())) for log in logs]
        assert first[0] is first[1] is first[2]


def test_a_follower_that_cannot_reach_its_leader_tries_again_after_its_backoff(replicas: Make) -> None:
    cluster = replicas(config={"replica.fetch.backoff.ms": "300"})
    cluster.cluster.links.link(2, 1).cut()
    cluster.produce(0, acks=1)
    cluster.run(ms=1)
    cluster.produce(1, acks=1)
    cluster.run(ms=100)
    cluster.cluster.links.link(2, 1).restore()
    cluster.run(ms=299)
    assert cluster.values(2) == [0]
    cluster.run(ms=1)
    assert cluster.values(2) == [0, 1]


def test_a_long_backlog_comes_in_bounded_pieces(replicas: Make) -> None:
    for detail in Detail:
        cluster = replicas(config={"replica.fetch.max.bytes": "200"}, detail=detail)
        cluster.cluster.links.link(1, 2).hold()
        cluster.produce(0, acks=1)
        for value in range(1, 50):
            cluster.produce(value, acks=1)
        recorder = Recorder(cluster, 2, 1)
        cluster.cluster.links.link(1, 2).release()
        cluster.run(ms=10)
        assert cluster.values(2) == list(range(50))
        assert len(recorder.requests) >= 10
        assert all(
            len(data.records or ()) <= 3
            for response in recorder.responses
            for topic in response.responses
            for data in topic.partitions
        )


def test_a_response_stays_below_its_own_limit(replicas: Make) -> None:
    cluster = replicas(partitions=12, config={"replica.fetch.response.max.bytes": "100"})
    cluster.cluster.links.link(1, 2).hold()
    led = [index for index in range(12) if cluster.cluster.leader_of("t", index) == 1]
    for _ in range(2):
        for index in led:
            cluster.topic = TopicPartition("t", index)
            cluster.produce(index, acks=1)
    recorder = Recorder(cluster, 2, 1)
    cluster.cluster.links.link(1, 2).release()
    cluster.run(ms=10)
    for index in led:
        cluster.topic = TopicPartition("t", index)
        assert cluster.values(2) == [index, index]
    sizes = [
        sum(len(record) for topic in one.responses for data in topic.partitions for record in data.records or ())
        for one in recorder.responses
    ]
    assert max(sizes) == len(cluster.batch(0))


def test_a_fetch_carries_the_epoch_of_the_last_record(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.kill(1)
    recorder = Recorder(cluster, 3, 2)
    cluster.run(ms=9_000)
    (topic,) = recorder.requests[0].topics
    (requested,) = topic.partitions
    assert (requested.fetch_offset, requested.last_fetched_epoch, requested.current_leader_epoch) == (1, 0, 1)


def test_logs_that_parted_twice_are_cut_epoch_by_epoch(replicas: Make) -> None:
    cluster = replicas(topic_config={"unclean.leader.election.enable": "true"}, brokers=2, replication_factor=2)
    cluster.produce(0)
    # Broker 2 leads epoch 1 alone, then broker 1 leads epoch 2 alone: neither has the other's records.
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    for value in (10, 11):
        cluster.produce(value, broker=2)
    cluster.cluster.kill(2)
    cluster.run(ms=10_000)
    cluster.cluster.restart(1)
    cluster.run(ms=1_000)
    assert cluster.leader() == 1
    for value in (20, 21, 22):
        cluster.produce(value, broker=1)
    cluster.cluster.restart(2)
    cluster.settle()
    assert cluster.values(1) == cluster.values(2) == [0, 20, 21, 22]
    (truncated,) = cluster.journal.events_of(LogTruncated)
    assert (truncated.broker_id, truncated.from_offset, truncated.to_offset, truncated.records) == (2, 1, 3, 2)
    assert "epoch 0 ends at 1" in truncated.reason


def test_a_follower_ahead_of_a_leader_that_lost_everything_starts_over(replicas: Make) -> None:
    cluster = replicas(topic_config={"unclean.leader.election.enable": "true"}, brokers=2, replication_factor=2)
    for value in range(3):
        cluster.produce(value)
    cluster.cluster.kill(2)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    cluster.cluster.broker(1).storage.delete(cluster.topic)
    cluster.cluster.restart(1)
    cluster.run(ms=1_000)
    assert cluster.leader() == 1
    cluster.cluster.restart(2)
    cluster.settle()
    assert cluster.values(2) == []
    assert cluster.produce(9).base_offset == 0


def test_a_dead_follower_does_not_count_as_alive_by_what_it_had_parked(replicas: Make) -> None:
    cluster = replicas(config={"replica.lag.time.max.ms": "2000"})
    cluster.produce(0)
    cluster.run(ms=60_000)
    cluster.cluster.kill(3)
    cluster.produce(1, acks=1)
    cluster.run(ms=1_100)
    assert cluster.isr() == (1, 2)
