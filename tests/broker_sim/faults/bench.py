"""A fault engine beside a cluster that records its verbs."""

from __future__ import annotations

from typing import Any, ClassVar

from broker_sim.control.events import BatchAppended, BrokerStarted, ProduceCompleted
from broker_sim.control.journal import Journal
from broker_sim.faults.action import Need
from broker_sim.faults.engine import FaultEngine
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Interception, Phase
from protocol_specs.api_key import ApiKey
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor


class FakeCluster:
    """A cluster of two brokers that records its verbs."""

    capabilities = frozenset(Need) - {Need.DISK, Need.VIRTUAL_DISK}
    active_controller = 3000
    broker_ids = (1, 2)
    controller_ids = ()
    partition_counts: ClassVar = {"orders": 2}

    def __init__(self, reactor: VirtualReactor) -> None:
        self.dead: set[int] = set()
        self.isrs: dict[tuple[str, int], tuple[int, ...]] = {}
        self.journal = Journal(lambda: reactor.now_us)
        self.done: list[tuple[str, int]] = []
        self.leaders: dict[tuple[str, int], int] = {("orders", 0): 1, ("orders", 1): 2}

    @property
    def admin(self) -> FakeCluster:
        return self

    def replicas_of(self, topic: str, partition: int) -> tuple[int, ...]:
        return (1, 2) if topic == "orders" and partition < 2 else ()

    def serves(self, broker_id: int) -> bool:
        return broker_id not in self.dead

    def isr_of(self, topic: str, partition: int) -> tuple[int, ...]:
        return self.isrs.get((topic, partition), self.replicas_of(topic, partition))

    def state_partition(self, kind: str, key: str) -> tuple[str, int]:
        return "orders", 1 if (kind, key) == ("group", "billing") else -1

    def kill(self, broker_id: int) -> None:
        self.done.append(("kill", broker_id))
        self.dead.add(broker_id)

    def is_running(self, broker_id: int) -> bool:
        return broker_id not in self.dead

    def restart(self, broker_id: int) -> None:
        self.done.append(("restart", broker_id))
        self.dead.discard(broker_id)
        self.journal.append(BrokerStarted(time_us=0, broker_id=broker_id))

    def stop(self, broker_id: int) -> None:
        self.done.append(("stop", broker_id))

    def leader_of(self, topic: str, partition: int) -> int | None:
        return self.leaders.get((topic, partition))


class Bench:
    def __init__(self) -> None:
        self.reactor = VirtualReactor()
        self.cluster = FakeCluster(self.reactor)
        self.engine = FaultEngine(cluster=self.cluster, reactor=self.reactor, streams=RandomStreams(7))

    def add(self, **written: Any) -> None:
        self.engine.add(parse_rule(written))

    def intercept(self, phase: Phase = Phase.BEFORE_APPEND, **point: Any) -> Interception | None:
        values = {"broker_id": 1, "api_key": ApiKey.PRODUCE, "topic": "orders", "partition": 0} | point
        return self.engine.intercept(phase, FaultPoint(**values))

    def acked(self, records: int) -> None:
        self.cluster.journal.append(
            ProduceCompleted(
                time_us=self.reactor.now_us, broker_id=1, topic="orders", partition=0, error_code=0, base_offset=0,
                required_offset=records, high_watermark=0, leader_epoch=0, isr=(1,), acks=1,
            )
        )  # fmt: skip

    def appended(self, records: int) -> None:
        self.cluster.journal.append(
            BatchAppended(
                time_us=self.reactor.now_us, broker_id=1, topic="orders", partition=0, base_offset=0,
                last_offset=records - 1, leader_epoch=0, records=records, size=1,
            )
        )  # fmt: skip
