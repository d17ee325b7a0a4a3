"""Keys that Kafka's producers once had: refused by name, with what says it now.

From ProducerConfig of 0.8.2 to 3.x, and from the Scala producer of 0.7 and 0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OLDER_KEYS", "SCALA_KEYS"]

OLDER_KEYS: Final = (
    ConfigKey(
        name="auto.include.jmx.reporter",
        type=ValueType.BOOLEAN,
        importance=Importance.LOW,
        default=True,
        status=KeyStatus.MAPPED,
        note="taken and without effect: there is no JMX",
        doc="Whether metrics appear in JMX though metric.reporters does not say so.",
        removed_in="4.0",
    ),
    ConfigKey(
        name="block.on.buffer.full",
        type=ValueType.BOOLEAN,
        importance=Importance.LOW,
        default=False,
        status=KeyStatus.REFUSED,
        note="gone from Kafka since 0.11: max.block.ms says how long send waits for memory",
        doc="Whether send waits without an end when buffer.memory is used up.",
        removed_in="0.11",
    ),
    ConfigKey(
        name="internal.auto.downgrade.txn.commit",
        type=ValueType.BOOLEAN,
        importance=Importance.LOW,
        default=False,
        status=KeyStatus.REFUSED,
        note="an internal key that is gone from Kafka since 4.0",
        doc="Whether offsets are committed to brokers before 2.5 without the data of the group.",
        removed_in="4.0",
    ),
    ConfigKey(
        name="metadata.fetch.timeout.ms",
        type=ValueType.LONG,
        importance=Importance.LOW,
        default=60000,
        minimum=0,
        status=KeyStatus.REFUSED,
        note="gone from Kafka since 0.11: max.block.ms says how long send waits for metadata",
        doc="How long send waits for metadata.",
        removed_in="0.11",
    ),
    ConfigKey(
        name="timeout.ms",
        type=ValueType.INT,
        importance=Importance.MEDIUM,
        default=30000,
        minimum=0,
        status=KeyStatus.REFUSED,
        note="gone from Kafka since 0.11: request.timeout.ms says it",
        doc="How long a leader waits for its followers before it answers.",
        removed_in="0.11",
    ),
)

# The Scala producer had another configuration altogether; what its keys are called now, or why they are gone.
SCALA_KEYS: Final[Mapping[str, str]] = {
    "batch.num.messages": "batch.size, which is in bytes",
    "broker.list": "bootstrap.servers",
    "compressed.topics": "compression.type, which holds for all topics",
    "compression.codec": "compression.type",
    "message.send.max.retries": "retries",
    "metadata.broker.list": "bootstrap.servers",
    "producer.type": "the future of each send; wait for it to send synchronously",
    "queue.buffering.max.messages": "buffer.memory, which is in bytes",
    "queue.buffering.max.ms": "linger.ms",
    "queue.enqueue.timeout.ms": "max.block.ms",
    "request.required.acks": "acks",
    "serializer.class": "value.serializer",
    "key.serializer.class": "key.serializer",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    "zk.connect": "bootstrap.servers; producers do not connect to ZooKeeper",
}
