"""A consumer is for one thread at a time, as KafkaConsumer is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Admin, Consumer, GroupMembershipOperation, TopicPartition
from broker_client.consumer_errors import ConcurrentAccess, WakeupError
from broker_client.errors import IllegalState, ProducerClosed
from broker_sim.threaded_cluster import ThreadedCluster
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = TopicPartition("orders", 0)
WAIT_S = 20.0
CALLS: dict[str, Callable[[Consumer], Any]] = {
    "poll": lambda consumer: consumer.poll(0),
    "poll_batch": lambda consumer: consumer.poll_batch(0),
    "assignment": lambda consumer: consumer.assignment(),
    "assign": lambda consumer: consumer.assign([KEY]),
    "seek": lambda consumer: consumer.seek(KEY, 0),
    "seek_to_end": lambda consumer: consumer.seek_to_end(),
    "pause": lambda consumer: consumer.pause(KEY),
    "paused": lambda consumer: consumer.paused(),
    "position": lambda consumer: consumer.position(KEY),
    "commit_async": lambda consumer: consumer.commit_async(),
    "current_lag": lambda consumer: consumer.current_lag(KEY),
    "partitions_for": lambda consumer: consumer.partitions_for("orders"),
    "group_metadata": lambda consumer: consumer.group_metadata(),
    "enforce_rebalance": lambda consumer: consumer.enforce_rebalance(),
    "unsubscribe": lambda consumer: consumer.unsubscribe(),
    "close": lambda consumer: consumer.close(0),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as running:
        yield running


def polling(consumer: Consumer) -> threading.Thread:
    """A thread that polls until a wake-up."""
    began = threading.Event()

    def poll() -> None:
        began.set()
        with pytest.raises(WakeupError):
            consumer.poll(WAIT_S)

    thread = threading.Thread(target=poll)
    thread.start()
    assert began.wait(WAIT_S)
    return thread


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_refused_while_another_thread_polls(cluster: ThreadedCluster, call: str) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
        consumer.assign([KEY])
        thread = polling(consumer)
        for _ in attempts("the poll of the other thread", seconds=WAIT_S):
            if consumer.metrics()["last-poll-seconds-ago"] >= 0:
                break
        with pytest.raises(ConcurrentAccess, match="not safe for multi-threaded access: thread MainThread"):
            CALLS[call](consumer)
        consumer.wakeup()
        thread.join(WAIT_S)
        assert consumer.assignment() == (KEY,)


def test_threads_may_take_turns(cluster: ThreadedCluster) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        thread = threading.Thread(target=consumer.assign, args=([KEY],))
        thread.start()
        thread.join(WAIT_S)
        assert consumer.position(KEY) == 0


def test_a_closed_consumer_refuses_calls_and_a_subscription_needs_a_group(cluster: ThreadedCluster) -> None:
    consumer = Consumer(bootstrap_servers=cluster.bootstrap_servers)
    with pytest.raises(IllegalState, match="nothing is assigned"):
        consumer.poll(0)
    consumer.close()
    for call in (CALLS["poll"], CALLS["seek"], CALLS["partitions_for"]):
        with pytest.raises(ProducerClosed, match="the consumer is closed"):
            call(consumer)


@pytest.mark.parametrize(
    ("instance_id", "operation", "leaves"),
    [
        (None, GroupMembershipOperation.DEFAULT, True),
        (None, GroupMembershipOperation.REMAIN_IN_GROUP, False),
        ("i", GroupMembershipOperation.DEFAULT, False),
        ("i", GroupMembershipOperation.LEAVE_GROUP, True),
    ],
)
def test_a_member_leaves_or_remains_as_close_requests(
    instance_id: str | None, operation: GroupMembershipOperation, *, leaves: bool
) -> None:
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], config=settings) as cluster:
        consumer = Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g", group_instance_id=instance_id)
        consumer.subscribe(["orders"])
        for _ in attempts("an assignment", seconds=WAIT_S):
            consumer.poll(0.05)
            if consumer.assignment():
                break
        consumer.close(group_membership=operation)
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            assert len(admin.describe_groups(["g"])["g"].members) == (0 if leaves else 1)
