from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.messages import Code, Path, WatchFired, ZooKeeperError

if TYPE_CHECKING:
    from collections.abc import Callable

T0 = TopicPartition("t", 0)


def test_a_write_of_an_older_version_is_void(zookeeper_cluster: Callable[..., Any]) -> None:
    zookeeper = zookeeper_cluster("2.3").zookeeper
    state = zookeeper.state_of(T0)
    shrunk = replace(state, isr=(1, 2))
    assert zookeeper.write_states({T0: shrunk}, epoch_version=None)[T0].zk_version == state.zk_version + 1
    assert zookeeper.write_states({T0: replace(state, isr=(1, 3))}, epoch_version=None) == {}
    assert zookeeper.state_of(T0).isr == (1, 2)


def test_a_write_that_is_repeated_after_a_lost_response_succeeds(zookeeper_cluster: Callable[..., Any]) -> None:
    zookeeper = zookeeper_cluster("2.3").zookeeper
    shrunk = replace(zookeeper.state_of(T0), isr=(1, 2))
    first = zookeeper.write_states({T0: shrunk}, epoch_version=None)
    assert zookeeper.write_states({T0: shrunk}, epoch_version=None) == first


def test_the_writes_of_a_controller_that_was_succeeded_fail(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3")
    zookeeper = cluster.zookeeper
    old = zookeeper.controller_epoch_version
    cluster.cut_from_zookeeper(1)
    cluster.run_out_session()
    assert zookeeper.controller_epoch_version > old
    with pytest.raises(ZooKeeperError) as refused:
        zookeeper.write_states({T0: zookeeper.state_of(T0)}, epoch_version=old)
    assert refused.value.code is Code.CONTROLLER_MOVED


@pytest.mark.parametrize(("release", "fenced"), [("2.0", False), ("2.1", True)])
def test_controllers_name_their_epoch_from_2_1_on(
    zookeeper_cluster: Callable[..., Any], release: str, fenced: bool
) -> None:
    assert (zookeeper_cluster(release).broker(1).controller.context.epoch_version is not None) is fenced


def test_a_lost_event_is_sent_again_with_the_next_ping(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3")
    notified: list[list[Path]] = []
    client = cluster.broker(2).client
    fired = client.watch_fired

    def receive(event: WatchFired) -> None:
        notified.append(event.paths)
        fired(event)

    client.watch_fired = receive  # type: ignore[method-assign]
    cluster.cut_from_zookeeper(2)
    cluster.zookeeper.sessions.fire(Path.CONFIG_CHANGES)
    cluster.run(ms=2_000)
    assert notified == []
    cluster.back_to_zookeeper(2)
    cluster.run(ms=5_000)
    assert notified == [[Path.CONFIG_CHANGES]]
    assert set(cluster.replicas.isr()) == {1, 2, 3}, "its session has lived on"


def test_a_request_without_a_session_gets_an_error(zookeeper_cluster: Callable[..., Any]) -> None:
    cluster = zookeeper_cluster("2.3")
    client = cluster.broker(2).client
    cluster.cut_from_zookeeper(2)
    cluster.run_out_session()
    responses: list[Any] = []
    cluster.back_to_zookeeper(2)
    requested = Deferred.fromCoroutine(client.request("ZooKeeperGet", lambda zookeeper, _: zookeeper.image))
    requested.addErrback(lambda failure: responses.append(failure.value.code))
    cluster.run(ms=1_000)
    assert responses == [Code.SESSION_EXPIRED]
    assert client.session_id != 2, "a new session has begun"
