"""A log directory fails: offline replicas, new leaders, errors of clients, and the end of a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.control.events import LogDirFailed
from broker_sim.errors import BrokerSimError
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.conftest import Replicas

DIRECTORIES = {"log.dirs": "/a,/b,/c"}


@pytest.fixture
def replicas_elsewhere(replicas: Callable[..., Replicas]) -> Callable[..., Replicas]:
    """The partition's replicas are in the second directory: the first one has the metadata."""

    def make(**options: object) -> Replicas:
        made = replicas(config=DIRECTORIES, topic_config={"min.insync.replicas": "1"}, **options)
        for broker in made.cluster.brokers.values():
            broker.storage.move(made.topic, "/b")
        made.run(ms=1)
        return made

    return make


def test_another_replica_leads_when_the_leaders_directory_fails(replicas_elsewhere: Callable[..., Replicas]) -> None:
    made = replicas_elsewhere()
    made.produce(1, 2, 3)
    made.cluster.fail_log_dir(1, "/b")
    made.run(ms=50)
    registration = made.cluster.registration_of(*made.topic)
    assert (registration.leader, registration.isr, registration.leader_epoch) == (2, (2, 3), 1)
    assert registration.lost_replicas == (1,)
    assert made.cluster.broker(1).alive
    broker = made.cluster.controller.image.brokers[1]
    assert not broker.fenced
    storage = made.cluster.broker(1).storage
    assert broker.log_dirs == (storage.directory_id("/a"), storage.directory_id("/c"))
    (event,) = [event for event in made.journal.events if isinstance(event, LogDirFailed)]
    assert (event.broker_id, event.log_dir, event.partitions) == (1, "/b", ("t-0",))
    assert made.produce(4, broker=2).base_offset == 3


def test_a_client_of_the_offline_replica_has_a_storage_error(replicas_elsewhere: Callable[..., Replicas]) -> None:
    made = replicas_elsewhere()
    made.cluster.fail_log_dir(1, "/b")
    for acks in (0, 1, -1):
        response = made.produce(1, acks=acks)
        assert response.error_code is ErrorCode.KAFKA_STORAGE_ERROR
        assert (response.base_offset, response.log_start_offset) == (-1, -1)
    manager = made.cluster.broker(1).replica_manager
    assert manager.list_offset(made.topic, timestamp=-1, isolation=None).error_code is ErrorCode.KAFKA_STORAGE_ERROR


def test_who_waits_for_acknowledgements_has_a_storage_error(replicas_elsewhere: Callable[..., Replicas]) -> None:
    made = replicas_elsewhere()
    made.hold_fetches(2, 3)
    responses = made.send(1)
    assert responses == []
    made.cluster.fail_log_dir(1, "/b")
    made.run(ms=1)
    assert [response.error_code for response in responses] == [ErrorCode.KAFKA_STORAGE_ERROR]


@pytest.mark.parametrize(("release", "isr", "elr"), [("3.7.2", (1,), ()), ("4.3.1", (), (1,))])
def test_a_lone_replica_leaves_its_partition_without_a_leader(
    replicas_elsewhere: Callable[..., Replicas], release: str, isr: tuple[int, ...], elr: tuple[int, ...]
) -> None:
    """As two real brokers have shown it."""
    made = replicas_elsewhere(replication_factor=1, release=release)
    made.cluster.fail_log_dir(1, "/b")
    made.run(ms=50)
    registration = made.cluster.registration_of(*made.topic)
    assert (registration.leader, registration.leader_epoch) == (-1, 1)
    assert (registration.isr, registration.elr, registration.last_known_elr) == (isr, elr, elr)


def test_a_follower_with_a_failed_directory_leaves_the_isr(replicas_elsewhere: Callable[..., Replicas]) -> None:
    made = replicas_elsewhere()
    made.cluster.fail_log_dir(3, "/b")
    made.run(ms=50)
    assert (made.leader(), made.isr()) == (1, (1, 2))
    # Until then the leader takes it for one that is about to join the ISR, and waits for it.
    made.run(ms=30_000)
    assert made.produce(1).error_code is ErrorCode.NONE


def test_a_broker_comes_back_with_its_directory(replicas_elsewhere: Callable[..., Replicas]) -> None:
    made = replicas_elsewhere()
    made.produce(1, 2)
    made.cluster.fail_log_dir(1, "/b")
    made.run(ms=50)
    made.world.run_until(made.cluster.stop(1))
    made.world.run_until(made.cluster.restart(1))
    made.run(ms=1_000)
    assert made.cluster.registration_of(*made.topic).lost_replicas == (1,)
    made.world.run_until(made.cluster.stop(1))
    made.cluster.mend_log_dir(1, "/b")
    made.world.run_until(made.cluster.restart(1))
    made.settle()
    assert made.cluster.registration_of(*made.topic).lost_replicas == ()
    assert made.values(1) == [1, 2]


def test_a_broker_ends_with_the_directory_of_its_metadata(replicas: Callable[..., Replicas]) -> None:
    made = replicas(config=DIRECTORIES)
    made.cluster.fail_log_dir(1, "/a")
    assert not made.cluster.broker(1).alive


def test_a_broker_ends_with_its_last_directory(replicas: Callable[..., Replicas]) -> None:
    made = replicas(config={**DIRECTORIES, "metadata.log.dir": "/elsewhere"})
    for name in ("/a", "/b"):
        made.cluster.fail_log_dir(1, name)
        assert made.cluster.broker(1).alive
    made.cluster.fail_log_dir(1)
    assert not made.cluster.broker(1).alive


def test_a_broker_that_cannot_notify_the_controller_ends(replicas: Callable[..., Replicas]) -> None:
    made = replicas(config={**DIRECTORIES, "log.dir.failure.timeout.ms": "5000"})
    made.cluster.isolate(1)
    made.cluster.fail_log_dir(1, "/c")
    made.run(ms=4_900)
    assert made.cluster.broker(1).alive
    made.run(ms=200)
    assert not made.cluster.broker(1).alive


def test_a_broker_that_has_notified_the_controller_goes_on(replicas: Callable[..., Replicas]) -> None:
    made = replicas(config={**DIRECTORIES, "log.dir.failure.timeout.ms": "5000"})
    made.cluster.fail_log_dir(1, "/c")
    made.run(ms=20_000)
    assert made.cluster.broker(1).alive


def test_new_topics_go_to_the_directories_that_are_left(replicas: Callable[..., Replicas]) -> None:
    from broker_sim.topic_spec import TopicSpec

    made = replicas(config=DIRECTORIES)
    made.cluster.fail_log_dir(1, "/c")
    made.world.run_until(made.cluster.create_topic(TopicSpec(name="new", partitions=6, replication_factor=3)))
    directories = made.cluster.broker(1).storage.directories
    assert {directories.of(TopicPartition("new", index)) for index in range(6)} == {"/a", "/b"}


def test_an_unknown_directory_is_refused_by_name(replicas: Callable[..., Replicas]) -> None:
    made = replicas(config=DIRECTORIES)
    with pytest.raises(BrokerSimError, match=r"no log directory '/d': they are \['/a', '/b', '/c'\]"):
        made.cluster.fail_log_dir(1, "/d")


def test_memory_has_no_power_to_lose_and_cannot_be_filled(replicas: Callable[..., Replicas]) -> None:
    made = replicas()
    with pytest.raises(BrokerSimError, match="give the cluster a data_dir"):
        made.cluster.lose_power(1)
    with pytest.raises(BrokerSimError, match="VirtualDisk"):
        made.cluster.fill_log_dir(2)
