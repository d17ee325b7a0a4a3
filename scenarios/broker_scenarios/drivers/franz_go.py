"""The driver of franz-go: a small program of this project's, compiled with the wanted version of the client."""

from __future__ import annotations

from typing import Final

from broker_scenarios.drivers.driver import CONSUMER_STEPS, OF_THE_RUN, PRODUCER_STEPS, TRANSACTION_STEPS, Driver

__all__ = ["FRANZ_GO"]

FRANZ_GO: Final = Driver(
    name="franz-go",
    what="the client for Go",
    package="github.com/twmb/franz-go",
    go_program="franz_go",
    steps=OF_THE_RUN | PRODUCER_STEPS | TRANSACTION_STEPS | CONSUMER_STEPS,
    producer_configs=frozenset(
        {
            "acks",
            "batch.size",
            "delivery.timeout.ms",
            "enable.idempotence",
            "linger.ms",
            "max.buffered.records",
            "max.in.flight.requests.per.connection",
            "metadata.max.age.ms",
            "metadata.min.age.ms",
            "request.timeout.ms",
            "retries",
            "transaction.timeout.ms",
            "transactional.id",
        }
    ),
    consumer_configs=frozenset(
        {
            "auto.commit.interval.ms",
            "auto.offset.reset",
            "client.rack",
            "enable.auto.commit",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "group.id",
            "group.instance.id",
            "heartbeat.interval.ms",
            "isolation.level",
            "max.partition.fetch.bytes",
            "max.poll.interval.ms",
            "metadata.max.age.ms",
            "metadata.min.age.ms",
            "session.timeout.ms",
        }
    ),
)
