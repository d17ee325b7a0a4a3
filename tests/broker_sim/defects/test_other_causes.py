"""Anomalies that need no defect, because an emulated release, a configuration or a fault rule has them."""

from __future__ import annotations

from typing import Any

from broker_client.consumer_groups import OffsetAndMetadata
from broker_sim.quotas.client_quotas_image import CLIENT_ID, NO_CLIENT_QUOTAS, ClientQuotaEntity, QuotaChange
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from sim_runtime.virtual_disk import VirtualDisk
from tests.broker_sim.defects.stage import ORDERS, Stage


def throttled(release: str) -> list[str]:
    """Return what is stored of two records of a producer far above its quota, which waits a second for responses."""
    stage = Stage(release=release)
    entity = ClientQuotaEntity.of({CLIENT_ID: "greedy"})
    change = QuotaChange(entity=entity, key="producer_byte_rate", value=50.0)
    stage.cluster.broker(1).quotas.apply(NO_CLIENT_QUOTAS.with_changes([change]))
    producer = stage.producer(
        client_id="greedy", acks=1, enable_idempotence=False, request_timeout_ms=1_000, delivery_timeout_ms=60_000
    )
    stage.until([stage.send(producer, "a" * 3_000)])
    stage.run(60_000)
    stage.close()
    return [value[:1] for value in stage.values()]


def test_a_delayed_response_is_retried_until_the_delivery_time_out() -> None:
    """throttle-timeout-spiral: each attempt is stored, and makes the next delay longer (KIP-219)."""
    assert throttled("1.1").count("a") > 3
    assert throttled("2.0") == ["a"]


def errors_after_retention(release: str) -> list[int]:
    """Return the results of a producer whose next record comes when its former ones are deleted."""
    spec = TopicSpec(name="orders", configs={"retention.ms": "1000", "segment.ms": "1000"})
    stage = Stage(release=release, topics=[spec], config={"log.retention.check.interval.ms": 1_000})
    producer = stage.producer()
    stage.sent(producer, "a")
    stage.run(120_000)
    stage.sent(producer, "b")
    stage.close()
    completed = [each for each in stage.cluster.journal.to_rows() if each["kind"] == "ProduceCompleted"]
    return [each["error_code"] for each in completed]


def test_a_producer_is_forgotten_with_its_records() -> None:
    """unknown-producer-id: our client begins anew, an older one gives up (KIP-360)."""
    assert errors_after_retention("2.3") == [0, ErrorCode.UNKNOWN_PRODUCER_ID, 0]
    assert errors_after_retention("2.4") == [0, 0]


def offset_of_an_active_group(release: str) -> OffsetAndMetadata | None:
    """Return the committed offset of a member that has polled for three times the retention since its commit."""
    config = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 1_000}
    stage = Stage(release=release, config=config)
    stage.sent(stage.producer(), "a")
    consumer = stage.consumer(**{"group.id": "g"})
    stage.call(consumer.subscribe(["orders"]))
    assert stage.poll(consumer, for_ms=10_000) == ["a"]
    stage.call(consumer.commit())
    stage.poll(consumer, for_ms=180_000)
    committed = stage.call(consumer.committed([ORDERS]))[ORDERS]
    stage.close()
    return committed  # type: ignore[no-any-return]


def test_offsets_expire_while_their_group_is_active() -> None:
    """offsets-lost-or-stale: the retention counts from the commit, not from the end of the group (KIP-211)."""
    assert offset_of_an_active_group("2.0") is None
    assert offset_of_an_active_group("2.1") == OffsetAndMetadata(offset=1, leader_epoch=0)


def replicas(release: str, config: dict[str, Any], **options: Any) -> Stage:
    """Return two brokers, the first one leads."""
    quick = {"zookeeper.session.timeout.ms": 2_000, "replica.lag.time.max.ms": 10_000, **config}
    return Stage(brokers=2, topics=["orders:1:2"], release=release, config=quick, **options)


def wait_for_leader(stage: Stage, broker_id: int) -> None:
    """Run until a broker leads."""
    stage.world.run_until(lambda: stage.cluster.leader_of(*ORDERS) == broker_id or None)
    stage.run(100)


def after_a_lost_tail(release: str) -> list[list[str]]:
    """Return the records of both replicas: the second one has lost its unflushed records, and led alone."""
    config = {"1:log.flush.interval.messages": 1}
    stage = replicas(release, config, data_dir="/data", disk=VirtualDisk())
    cluster, producer = stage.cluster, stage.producer(acks="all", enable_idempotence=False)
    stage.sent(producer, "a", "b", "c")
    stage.run(10_000)  # the high watermark is in its checkpoint
    cluster.lose_power(1)
    wait_for_leader(stage, 2)
    cluster.lose_power(2)
    stage.run(4_000)
    stage.world.run_until(cluster.restart(2))
    wait_for_leader(stage, 2)
    stage.until([stage.send(producer, value) for value in "xyz"])
    stage.world.run_until(cluster.restart(1))
    stage.run(10_000)
    stage.close()
    return [stage.values(broker_id=broker_id) for broker_id in (1, 2)]


def test_replicas_differ_after_a_lost_tail() -> None:
    """log-divergence: a follower truncates to its own high watermark (KIP-101)."""
    first, second = after_a_lost_tail("0.10.2")
    assert first != second
    assert "c" in first
    first, second = after_a_lost_tail("0.11")
    assert first == second


def after_quick_elections(release: str) -> list[list[str]]:
    """Return the records of both replicas: each has led without the records of the other one."""
    stage = replicas(release, {"unclean.leader.election.enable": "true"})
    cluster, producer = stage.cluster, stage.producer(acks=1, enable_idempotence=False)
    stage.sent(producer, "a")
    stage.run(1_000)
    cluster.link(1, 2).hold()
    stage.sent(producer, "b", "c", "d")
    cluster.kill(1)
    wait_for_leader(stage, 2)
    stage.sent(producer, "x", "y")
    cluster.kill(2)
    cluster.link(1, 2).release()
    stage.run(4_000)
    stage.world.run_until(cluster.restart(1))
    wait_for_leader(stage, 1)
    stage.sent(producer, "e")
    stage.world.run_until(cluster.restart(2))
    stage.run(10_000)
    stage.close()
    return [stage.values(broker_id=broker_id) for broker_id in (1, 2)]


def test_replicas_differ_after_quick_elections() -> None:
    """fast-failover-divergence: the leader does not know the follower's last epoch, and truncates too little."""
    assert after_quick_elections("1.1") == [["a", "b", "c", "d", "e"], ["a", "x", "y", "d", "e"]]
    assert after_quick_elections("2.0") == [["a", "b", "c", "d", "e"]] * 2
