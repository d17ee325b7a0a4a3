"""Keys of earlier Kafka producers, refused by name, with their replacements.

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
        note="accepted without effect, as there is no JMX",
        doc="Register the JMX reporter even if metric.reporters does not name it.",
        removed_in="4.0",
    ),
    ConfigKey(
        name="block.on.buffer.full",
        type=ValueType.BOOLEAN,
        importance=Importance.LOW,
        default=False,
        status=KeyStatus.REFUSED,
        note="removed from Kafka in 0.11: max.block.ms limits the wait for memory",
        doc="send waits without a limit when buffer.memory is exhausted.",
        removed_in="0.11",
    ),
    ConfigKey(
        name="internal.auto.downgrade.txn.commit",
        type=ValueType.BOOLEAN,
        importance=Importance.LOW,
        default=False,
        status=KeyStatus.REFUSED,
        note="an internal key, removed from Kafka in 4.0",
        doc="Commit offsets to brokers before 2.5 without the metadata of the group.",
        removed_in="4.0",
    ),
    ConfigKey(
        name="metadata.fetch.timeout.ms",
        type=ValueType.LONG,
        importance=Importance.LOW,
        default=60000,
        minimum=0,
        status=KeyStatus.REFUSED,
        note="removed from Kafka in 0.11: max.block.ms limits the wait for metadata",
        doc="Time limit of send for metadata.",
        removed_in="0.11",
    ),
    ConfigKey(
        name="timeout.ms",
        type=ValueType.INT,
        importance=Importance.MEDIUM,
        default=30000,
        minimum=0,
        status=KeyStatus.REFUSED,
        note="removed from Kafka in 0.11: use request.timeout.ms",
        doc="Time limit of a leader for its followers before it responds.",
        removed_in="0.11",
    ),
)

# The Scala producer had other keys: their replacements.
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
