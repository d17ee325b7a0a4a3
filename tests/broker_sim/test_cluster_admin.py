from __future__ import annotations

import pytest

from broker_sim.cluster import Cluster
from broker_sim.errors import NotThere
from broker_sim.faults.action import Need
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World


def test_a_cluster_names_what_it_offers_to_actions() -> None:
    world = World(1)
    in_memory = Cluster(reactor=world.reactor, streams=world.streams, listen=False)
    on_disk = Cluster(reactor=world.reactor, streams=world.streams, listen=False, data_dir="/data", disk=VirtualDisk())
    offered = {Need.CLUSTER, Need.PROCESS, Need.PAUSE, Need.ADMIN, Need.WIRE, Need.VIRTUAL_TIME}
    assert in_memory.admin.capabilities == offered
    assert on_disk.admin.capabilities - in_memory.admin.capabilities == {Need.DISK, Need.VIRTUAL_DISK}


def test_an_action_that_a_cluster_cannot_do_is_refused_by_name() -> None:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, streams=world.streams, listen=False)
    with pytest.raises(RuleError, match="act: lose_power needs logs on a disk"):
        cluster.faults.add(parse_rule({"act": {"lose_power": 1}}))


def test_a_request_ends_with_the_process_of_its_broker() -> None:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, brokers=1, topics=["orders"], streams=world.streams, link_delay_ms=5)
    cluster.start()
    made = cluster.admin.add_partitions("orders", 1)
    world.run_for(ms=1)
    cluster.kill(1)
    with pytest.raises(NotThere, match="CreatePartitions: broker 1 has ended before its response"):
        world.run_until(made, deadline_ms=100)
    cluster.close()
