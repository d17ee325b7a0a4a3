"""The only node of a cluster is broker and controller in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet import error
from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster import Cluster
from broker_sim.metadata.metadata_records import METADATA_VERSION
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twisted.internet.interfaces import IConnector
    from twisted.python.failure import Failure

DOWN_MS = 20_000
METADATA_VERSION_OF_3_9 = 21
"""3.9-IV0."""


class Run:
    def __init__(self, brokers: int, **options: Any) -> None:
        self.world = World(1)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=brokers,
            **options,
            host=lambda broker_id: f"b{broker_id}",
            broker_reactor=lambda broker_id: self.world.network.host(f"b{broker_id}"),
        )
        self.cluster.start()
        self.world.run_for(ms=1_000)

    @property
    def end_offset(self) -> int:
        self.cluster.controller.log.write_no_ops()
        return self.cluster.controller.log.end_offset

    def kinds(self, start_offset: int) -> list[tuple[str, int]]:
        """Class and epoch of each record from an offset on, without the NoOpRecords of an idle leader."""
        found = [
            (type(each.message).__name__, each.leader_epoch)
            for each in self.cluster.controller.log.records(start_offset)
        ]
        return [each for each in found if each[0] != "NoOpRecord"]

    def restart(self) -> None:
        self.world.run_until(self.cluster.restart(1))
        self.world.run_for(ms=100)


@pytest.fixture
def run() -> Iterator[Run]:
    run = Run(1)
    yield run
    run.world.run_until(run.cluster.close())


def test_each_start_is_an_election_and_registers_the_controller_before_the_broker(run: Run) -> None:
    for epoch in (2, 3):
        run.cluster.kill(1)
        end_offset = run.end_offset
        run.restart()
        found = run.kinds(end_offset)
        assert found[:3] == [
            ("LeaderChangeMessage", epoch),
            ("RegisterControllerRecord", epoch),
            ("RegisterBrokerRecord", epoch),
        ]
        assert {*found[3:]} == {("BrokerRegistrationChangeRecord", epoch)}


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_node_that_is_down_writes_nothing(run: Run, how: str) -> None:
    if how == "kill":
        run.cluster.kill(1)
    else:
        run.world.run_until(run.cluster.stop(1))
    end_offset = run.end_offset
    run.world.run_for(ms=DOWN_MS)
    assert run.end_offset == end_offset
    run.restart()
    run.world.run_for(ms=DOWN_MS)
    assert run.end_offset > end_offset + DOWN_MS // 500, "it is idle and writes NoOpRecords again"


class Client(ClientFactory):
    protocol = Protocol
    noisy = False
    outcome: object = None

    def buildProtocol(self, addr: object) -> Protocol | None:  # noqa: N802
        self.outcome = addr
        return super().buildProtocol(addr)  # type: ignore[arg-type]

    def clientConnectionFailed(self, connector: IConnector, reason: Failure) -> None:  # noqa: ARG002, N802
        self.outcome = reason.type


def listens(run: Run) -> bool:
    client = Client()
    host, port = run.cluster.controller_endpoints[1]
    run.world.network.host("client").connectTCP(host, port, client)
    run.world.run_for(ms=50)
    return client.outcome is not error.ConnectionRefusedError


def test_its_controller_listens_while_it_runs(run: Run) -> None:
    assert listens(run)
    run.cluster.kill(1)
    assert not listens(run)
    run.restart()
    assert listens(run)


def test_its_controller_ends_with_a_broker_that_cannot_go_on_without_its_disk() -> None:
    run = Run(1, data_dir="/data", disk=VirtualDisk())
    run.cluster.fail_log_dir(1)
    run.world.run_for(ms=10)
    assert not run.cluster.brokers[1].alive
    assert not listens(run)
    run.world.run_until(run.cluster.close())


def test_its_controller_starts_as_the_release_of_an_upgrade() -> None:
    run = Run(1, release="3.7.2")
    end_offset = run.end_offset
    run.world.run_until(run.cluster.admin.upgrade("3.9"))
    assert ("LeaderChangeMessage", 2) in run.kinds(end_offset)
    assert listens(run)
    [controller] = run.cluster.controller.image.controllers.values()
    [highest] = [feature.highest for feature in controller.features if feature.name == METADATA_VERSION]
    assert highest == METADATA_VERSION_OF_3_9
    run.world.run_until(run.cluster.close())


def test_with_several_brokers_the_controller_goes_on() -> None:
    run = Run(2)
    run.cluster.kill(1)
    end_offset = run.end_offset
    run.restart()
    assert ("RegisterBrokerRecord", 1) in run.kinds(end_offset)
    run.world.run_until(run.cluster.close())
