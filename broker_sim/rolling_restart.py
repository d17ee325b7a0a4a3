"""Restarts one broker after the other in order, as in an upgrade without downtime.

Each broker does a controlled shutdown (its leaderships move first) and starts again; the next one waits until it is in
every ISR that it belongs to. Operators script this around kafka-server-stop; no Kafka class does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.errors import BrokerSimError
from broker_sim.topic_partition import TopicPartition
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.cluster import Cluster

POLL_MS: Final = 100
CATCH_UP_MS_MAX: Final = 300_000


async def rolling_restart(
    cluster: Cluster, broker_ids: Sequence[int] | None = None, *, catch_up_ms_max: float = CATCH_UP_MS_MAX
) -> None:
    """Restart these brokers (by default all that run, by id), one at a time.

    Raises:
        BrokerSimError: a broker is not back in its ISRs within `catch_up_ms_max`; the message names the partitions.
    """
    if broker_ids is None:
        broker_ids = [broker.id for broker in cluster.brokers.values() if broker.alive]
    for broker_id in broker_ids:
        await cluster.stop(broker_id)
        await cluster.restart(broker_id)
        await wait_until_in_sync(cluster, broker_id, catch_up_ms_max=catch_up_ms_max)


async def wait_until_in_sync(cluster: Cluster, broker_id: int, *, catch_up_ms_max: float = CATCH_UP_MS_MAX) -> None:
    """Wait until a broker is in every ISR that it belongs to.

    Raises:
        BrokerSimError: it is not within `catch_up_ms_max`; the message names the partitions.
    """
    waited_ms = 0.0
    while behind := _out_of_sync(cluster, broker_id):
        if waited_ms >= catch_up_ms_max:
            names = ", ".join(str(topic_partition) for topic_partition in behind)
            msg = (
                f"rolling restart: broker {broker_id} was not in the ISR of {names} after {waited_ms:g} ms; "
                "catch_up_ms_max allows longer"
            )
            raise BrokerSimError(msg)
        await sleep(cluster.reactor, POLL_MS)
        waited_ms += POLL_MS


def _out_of_sync(cluster: Cluster, broker_id: int) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, index)
        for topic in cluster.controller.image.topics.values()
        for index, partition in enumerate(topic.partitions)
        if broker_id in partition.replicas and broker_id not in partition.isr
    ]
