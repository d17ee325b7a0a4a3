"""The drivers of Python clients."""

from __future__ import annotations

from typing import Final

from broker_scenarios.drivers.driver import CONSUMER_STEPS, OF_THE_RUN, PRODUCER_STEPS, TRANSACTION_STEPS, Driver

__all__ = ["AIOKAFKA", "CONFLUENT_KAFKA", "KAFKA_PYTHON"]

_LIBRDKAFKA: Final = """
    allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms
    broker.address.family broker.address.ttl broker.version.fallback client.dns.lookup client.rack
    connections.max.idle.ms debug enable.random.seed log.connection.close log_level max.in.flight
    max.in.flight.requests.per.connection message.copy.max.bytes message.max.bytes metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy receive.message.max.bytes
    reconnect.backoff.jitter.ms reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms
    socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms statistics.interval.ms
    topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
"""
_PYTHON: Final = """
    api.version connections.max.idle.ms metadata.max.age.ms request.timeout.ms retry.backoff.ms
"""
_KAFKA_PYTHON: Final = f"""{_PYTHON}
    allow.auto.create.topics api.version.auto.timeout.ms bootstrap.timeout.ms client.dns.lookup
    max.in.flight.requests.per.connection receive.buffer.bytes receive.message.max.bytes reconnect.backoff.max.ms
    reconnect.backoff.ms send.buffer.bytes
"""
_PYTHON_PRODUCER: Final = """
    acks compression.type enable.idempotence linger.ms max.request.size transaction.timeout.ms transactional.id
"""
_PYTHON_CONSUMER: Final = """
    auto.commit.interval.ms auto.offset.reset check.crcs client.rack enable.auto.commit exclude.internal.topics
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id heartbeat.interval.ms isolation.level
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records session.timeout.ms
"""


def _names(*texts: str) -> frozenset[str]:
    return frozenset(name for text in texts for name in text.split())


CONFLUENT_KAFKA: Final = Driver(
    name="confluent-kafka",
    what="librdkafka by its Python package",
    package="confluent-kafka",
    module="python_clients.confluent_kafka_client",
    steps=OF_THE_RUN | PRODUCER_STEPS | TRANSACTION_STEPS | CONSUMER_STEPS,
    producer_configs=_names(
        _LIBRDKAFKA,
        """
        acks batch.num.messages batch.size compression.codec compression.level compression.type delivery.timeout.ms
        enable.gapless.guarantee enable.idempotence linger.ms message.send.max.retries message.timeout.ms partitioner
        queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
        queue.buffering.max.ms queuing.strategy request.required.acks request.timeout.ms retries
        sticky.partitioning.linger.ms transaction.timeout.ms transactional.id
        """,
    ),
    consumer_configs=_names(
        _LIBRDKAFKA,
        """
        auto.commit.interval.ms auto.offset.reset check.crcs coordinator.query.interval.ms enable.auto.commit
        enable.auto.offset.store enable.partition.eof fetch.error.backoff.ms fetch.max.bytes fetch.message.max.bytes
        fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id group.protocol
        group.remote.assignor heartbeat.interval.ms isolation.level max.partition.fetch.bytes max.poll.interval.ms
        partition.assignment.strategy queued.max.messages.kbytes queued.min.messages session.timeout.ms
        """,
    ),
    promised={"enable.idempotence": "false", "max.in.flight.requests.per.connection": "1000000"},
    meanings={
        "request.required.acks": "acks",
        "message.send.max.retries": "retries",
        "max.in.flight": "max.in.flight.requests.per.connection",
        "message.timeout.ms": "delivery.timeout.ms",
    },
)
KAFKA_PYTHON: Final = Driver(
    name="kafka-python",
    what="the client in pure Python",
    package="kafka-python",
    module="python_clients.kafka_python_client",
    steps=OF_THE_RUN | PRODUCER_STEPS | TRANSACTION_STEPS | CONSUMER_STEPS,
    producer_configs=_names(
        _KAFKA_PYTHON, _PYTHON_PRODUCER, "batch.size buffer.memory delivery.timeout.ms max.block.ms retries"
    ),
    consumer_configs=_names(
        _KAFKA_PYTHON, _PYTHON_CONSUMER, "consumer.timeout.ms enable.incremental.fetch.sessions metrics.enabled"
    ),
    promised={"acks": "1", "retries": "0", "enable.idempotence": "false"},
    promised_before="3.0.0",
)
AIOKAFKA: Final = Driver(
    name="aiokafka",
    what="the client for asyncio",
    package="aiokafka",
    module="python_clients.aiokafka_client",
    steps=OF_THE_RUN | PRODUCER_STEPS | TRANSACTION_STEPS | CONSUMER_STEPS,
    producer_configs=_names(_PYTHON, _PYTHON_PRODUCER, "max.batch.size"),
    consumer_configs=_names(_PYTHON, _PYTHON_CONSUMER, "consumer.timeout.ms rebalance.timeout.ms"),
    promised={"acks": "1", "enable.idempotence": "false", "max.in.flight.requests.per.connection": "1"},
)
