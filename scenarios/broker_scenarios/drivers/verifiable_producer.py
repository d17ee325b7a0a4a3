"""The driver of Java's VerifiableProducer, from the jars of a Kafka release. It sends loads alone."""

from __future__ import annotations

from typing import Final

from broker_client.config_keys import KEYS
from broker_scenarios.drivers.driver import Driver

__all__ = ["VERIFIABLE_PRODUCER"]

VERIFIABLE_PRODUCER: Final = Driver(
    name="verifiable-producer",
    what="the producer of Kafka's system tests, in Java",
    package="org.apache.kafka:kafka-tools",
    java_program="python_clients.verifiable_producer",
    steps=frozenset(),
    producer_configs=frozenset(KEYS),
    promised={"retries": "0"},
)
