from __future__ import annotations

import pytest

from broker_sim.cluster import Cluster
from broker_sim.errors import BrokerSimError, NotThere
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


def test_a_user_is_there_when_the_verb_is_done_or_from_the_start() -> None:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, brokers=2, streams=world.streams, listen=False, link_delay_ms=5)
    cluster.storage_format.add_scram("SCRAM-SHA-512=[name=bob,password=b]", world.streams.stream("salts"))
    cluster.start()

    def users(broker_id: int) -> list[str]:
        return cluster.brokers[broker_id].metadata_cache.image.scram.users()

    assert users(2) == ["bob"]
    world.run_until(cluster.admin.create_scram_user("ann", "secret"))
    assert users(1) == users(2) == ["ann", "bob"]
    world.run_until(cluster.admin.delete_scram_user("bob", mechanism="SCRAM-SHA-512"))
    assert users(2) == ["ann"]
    with pytest.raises(BrokerSimError, match="RESOURCE_NOT_FOUND"):
        world.run_until(cluster.admin.delete_scram_user("bob"))
    with pytest.raises(BrokerSimError, match="no SCRAM mechanism 'SHA-256'; there are SCRAM-SHA-256, SCRAM-SHA-512"):
        cluster.admin.create_scram_user("ann", "secret", mechanism="SHA-256")
    names = [type(each.message).__name__ for each in cluster.controller.metadata_log.batches[1].records]
    assert names[-3:] == ["UserScramCredentialRecord", "ConfigRecord", "EndTransactionRecord"]
    cluster.close()
