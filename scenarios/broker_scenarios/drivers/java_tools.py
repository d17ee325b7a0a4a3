"""The drivers of Kafka's tools in Java, from the jars of a release. VerifiableProducer sends loads alone, and
VerifiableConsumer subscribes to one topic and commits by itself.
"""

from __future__ import annotations

from typing import Final

from broker_client.config.consumer_keys import CONSUMER_KEYS
from broker_client.config_keys import KEYS
from broker_scenarios.drivers.driver import OF_THE_RUN, Driver

__all__ = ["VERIFIABLE_CONSUMER", "VERIFIABLE_PRODUCER"]

_PACKAGE: Final = "org.apache.kafka:kafka-tools"

VERIFIABLE_PRODUCER: Final = Driver(
    name="verifiable-producer",
    what="the producer of Kafka's system tests, in Java",
    package=_PACKAGE,
    java_program="python_clients.verifiable_producer",
    steps=frozenset(),
    producer_configs=frozenset(KEYS),
    promised={"retries": "0"},
)
VERIFIABLE_CONSUMER: Final = Driver(
    name="verifiable-consumer",
    what="the consumer of Kafka's system tests, in Java",
    package=_PACKAGE,
    java_program="python_clients.verifiable_consumer",
    steps=OF_THE_RUN | {"subscribe", "poll", "close"},
    consumer_configs=frozenset(CONSUMER_KEYS),
)
