"""Brokers restart as another release: what joins, which versions they use among themselves, what is finalized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import BrokerStarted, LeaderElected, RequestReceived
from broker_sim.errors import BrokerSimError
from broker_sim.metadata.metadata_records import METADATA_VERSION
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

WITHIN_MS = 120_000


class Upgraded:
    """A cluster on virtual time."""

    def __init__(self, release: str = "3.7.2", *, on_disk: bool = False, **options: Any) -> None:
        self.world = World(1)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            topics=[TopicSpec(name="t", replication_factor=3, configs={"min.insync.replicas": "2"})],
            release=release,
            listen=False,
            data_dir="/data" if on_disk else None,
            disk=VirtualDisk() if on_disk else None,
            **options,
        )
        self.cluster.start()

    def run(self, done: Deferred[None]) -> None:
        self.world.run_until(done, deadline_ms=WITHIN_MS)

    def upgrade(self, to: str, broker_ids: list[int] | None = None) -> None:
        self.run(self.cluster.admin.upgrade(to, broker_ids))

    @property
    def releases(self) -> list[str]:
        return [broker.release.name for broker in self.cluster.brokers.values()]

    @property
    def level(self) -> int:
        return self.cluster.controller.image.finalized_features[METADATA_VERSION]

    def fetches(self) -> set[tuple[int, int]]:
        """The senders and versions of the followers' next fetches."""
        before = self.cluster.journal.count()
        for broker in self.cluster.brokers.values():
            self.world.run_for(ms=1_500)
            assert broker.alive
        events = self.cluster.journal.numbered()
        return {
            (event.replica_id, event.api_version)
            for number, event in events
            if number > before and isinstance(event, RequestReceived) and event.api == "Fetch" and event.replica_id > 0
        }


@pytest.mark.parametrize("on_disk", [False, True])
def test_all_brokers_restart_in_order_and_keep_their_logs(on_disk: bool) -> None:
    made = Upgraded(on_disk=on_disk)
    before = made.cluster.journal.count(kind=BrokerStarted)
    made.upgrade("3.9")
    assert made.releases == ["3.9.2"] * 3
    assert [event.broker_id for event in made.cluster.journal.events_of(BrokerStarted)][before:] == [1, 2, 3]
    assert not any(event.unclean for event in made.cluster.journal.events_of(LeaderElected))
    for broker in made.cluster.brokers.values():
        log = broker.storage.logs[next(iter(broker.storage.logs))]
        assert log.behaviour is broker.config.behaviour
    made.run(made.cluster.create_topic("u").addCallback(lambda _: None))
    made.cluster.close()


def test_brokers_use_the_versions_of_the_finalized_level_until_it_is_raised() -> None:
    made = Upgraded()
    assert made.fetches() == {(2, 16), (3, 16)}
    made.upgrade("3.9", [2, 3])
    assert made.level == 19
    assert [broker.protocol.name for broker in made.cluster.brokers.values()] == ["3.7.2"] * 3
    assert {version for _, version in made.fetches()} == {16}
    made.upgrade("3.9", [1])
    made.run(made.cluster.admin.finalize("3.9"))
    made.world.run_for(ms=100)
    assert made.level == 21
    assert [broker.protocol.name for broker in made.cluster.brokers.values()] == ["3.9.2"] * 3
    assert {version for _, version in made.fetches()} == {17}
    made.cluster.close()


def test_a_level_that_a_broker_or_the_controller_does_not_support_is_refused() -> None:
    made = Upgraded()
    with pytest.raises(BrokerSimError, match="Local controller 1 only supports versions 1-19"):
        made.run(made.cluster.admin.finalize("3.9"))
    made.upgrade("3.8", [1])
    with pytest.raises(BrokerSimError, match="Broker 2 only supports versions 1-19"):
        made.run(made.cluster.admin.finalize("3.8"))
    assert made.level == 19
    made.upgrade("3.8", [2, 3])
    made.run(made.cluster.admin.finalize("3.8"))
    assert made.level == 20
    made.cluster.close()


def test_a_broker_goes_back_before_the_level_is_raised_and_not_after_it() -> None:
    made = Upgraded()
    made.upgrade("3.9", [2])
    made.upgrade("3.7", [2])
    assert made.releases == ["3.7.2"] * 3
    made.upgrade("3.9")
    made.run(made.cluster.admin.finalize("3.9"))
    started = made.cluster.journal.count(kind=BrokerStarted)
    with pytest.raises(
        BrokerSimError, match=r"metadata\.version is finalized at 21, and release 3\.7\.2 supports 1 to 19"
    ):
        made.cluster.admin.upgrade("3.7", [2])
    assert made.cluster.journal.count(kind=BrokerStarted) == started
    with pytest.raises(BrokerSimError, match="Refusing to perform the requested downgrade"):
        made.run(made.cluster.admin.finalize("3.6"))
    assert made.level == 21
    made.cluster.close()


@pytest.mark.parametrize(
    ("release", "options", "to", "problem"),
    [
        ("3.9", {}, "4.3.1", "broker 1 cannot restart as 4.3.1 after 3.9.2 .kraft.: releases are mixed within KRaft"),
        ("4.3.1", {}, "4.2", "broker 1 cannot restart as 4.2.1 after 4.3.1"),
        ("2.8", {}, "3.7", "broker 1 cannot restart as 3.7.2 after 2.8.2 .zookeeper.|after 2.8.2"),
        ("3.7", {"controllers": 3}, "3.9", r"controllers \[3000, 3001, 3002\] keep their release"),
        ("3.7", {}, "3.77", "no broker release '3.77' is known"),
    ],
)
def test_what_is_not_simulated_is_refused_by_name(release: str, options: dict[str, Any], to: str, problem: str) -> None:
    made = Upgraded(release, **options)
    with pytest.raises(BrokerSimError, match=problem):
        made.cluster.admin.upgrade(to)
    made.cluster.close()


def test_a_release_without_features_cannot_be_finalized() -> None:
    made = Upgraded()
    for name, problem in (("3.77", "no broker release"), ("2.8", "has no finalized features")):
        with pytest.raises(BrokerSimError, match=problem):
            made.cluster.admin.finalize(name)
    made.cluster.close()
