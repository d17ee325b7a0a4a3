from __future__ import annotations

from typing import Any

import pytest

from broker_client import AcknowledgeType, Admin, AlterConfigOp, ConfigResource, Consumer, Producer, ShareConsumer
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.deadlines import DeadlineExceeded

SECONDS_MAX = 30


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_have_members_assignments_and_lag(protocol: str) -> None:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"], quick_groups=True) as cluster:
        servers: dict[str, Any] = {"bootstrap_servers": cluster.bootstrap_servers}
        with Producer(**servers) as producer:
            for partition in (0, 1, 1):
                producer.send("orders", b"v", partition=partition).result(SECONDS_MAX)
        options = {"group_id": "readers", "group_protocol": protocol, "auto_offset_reset": "earliest"}
        with Consumer(**servers, **options) as consumer:
            consumer.subscribe(["orders"])
            assert consumer.poll(SECONDS_MAX)
            group = cluster.wait_for_group("readers", members=1)
            assert (group.type, group.coordinator) == (protocol, 1)
            assert sorted(group.members[0].assignment) == ["orders-0", "orders-1"]
            assert group.members[0].client_host == "/127.0.0.1"
            consumer.commit()
            assert {each.client_id for each in cluster.connections()} == {cluster.requests("Fetch")[-1].client_id}
        [group] = cluster.groups()
        assert all(each.lag is not None and each.lag >= 0 for each in group.offsets)
        assert group.state == "Empty"


def test_a_share_group_has_the_start_offsets_and_lag_that_the_admin_client_reads() -> None:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"], quick_groups=True) as cluster:
        servers: dict[str, Any] = {"bootstrap_servers": cluster.bootstrap_servers}
        with Admin(**servers) as admin, Producer(**servers) as producer:
            earliest = AlterConfigOp(name="share.auto.offset.reset", value="earliest")
            admin.incremental_alter_configs({ConfigResource.group("billing"): [earliest]})
            for _ in range(3):
                producer.send("orders", b"v", partition=0).result(SECONDS_MAX)
            options = {"group_id": "billing", "share_acknowledgement_mode": "explicit"}
            with ShareConsumer(**servers, **options) as consumer:
                consumer.subscribe(["orders"])
                records: list[Any] = []
                while len(records) < 3:
                    records += consumer.poll(SECONDS_MAX)
                for record, kind in zip(records, ("ACCEPT", "RELEASE", "ACCEPT"), strict=True):
                    consumer.acknowledge(record, AcknowledgeType[kind])
                consumer.commit_sync()
                [group] = cluster.groups()
                read = admin.list_share_group_offsets(["billing"])["billing"]
        shown = {(each.topic, each.partition): (each.offset, each.lag) for each in group.offsets}
        assert shown["orders", 0][1] == 1
        assert shown == {
            tuple(key): (-1, None) if each is None else (each.start_offset, each.lag) for key, each in read.items()
        }


def test_transactions_have_their_partitions() -> None:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as cluster:
        with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="payments") as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("orders", b"v").result(SECONDS_MAX)
            [found] = cluster.transactions()
            assert (found.state, found.partitions) == ("Ongoing", ("orders-0",))
            [topic] = [each for each in cluster.topics() if each.name == "orders"]
            assert (topic.partitions[0].last_stable_offset, topic.partitions[0].high_watermark) == (0, 1)
            producer.abort_transaction()
        assert cluster.wait_for_transaction("payments", "CompleteAbort").partitions == ()


def test_brokers_and_partitions_follow_a_crash() -> None:
    with ThreadedCluster(brokers=2, topics=["orders:2:2"], quick_failover=True) as cluster:
        assert [(each.leaders, each.replicas) for each in cluster.brokers()] == [(1, 2), (1, 2)]
        cluster.kill(1)
        cluster.wait_for_isr("orders", 0, [2])
        first, second = cluster.brokers()
        assert (first.running, first.fenced, first.leaders, second.leaders) == (False, True, 0, 2)
        with pytest.raises(DeadlineExceeded, match="now: broker 1 is down"):
            cluster.wait_until_quiet(timeout_s=0.01)
        cluster.restart(1)
        cluster.wait_until_quiet()
