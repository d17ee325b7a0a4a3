"""Adapters: one file per client library. Each wraps a client so that it hands its records in to a ledger.

No library is imported here: a client is recognised by the names of its classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.ledger.adapters.aiokafka import AioKafkaConsumer, AioKafkaProducer
from broker_scenarios.ledger.adapters.broker_client import (
    OurAsyncConsumer,
    OurAsyncProducer,
    OurConsumer,
    OurProducer,
)
from broker_scenarios.ledger.adapters.confluent_kafka import ConfluentConsumer, ConfluentProducer
from broker_scenarios.ledger.adapters.kafka_python import KafkaPythonConsumer, KafkaPythonProducer

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_scenarios.ledger.book import LedgerBook

__all__ = ["wrapped"]

ADAPTERS: Final[dict[tuple[str, str], tuple[str, Callable[..., Any]]]] = {
    ("cimpl", "Producer"): ("producer", ConfluentProducer),
    ("cimpl", "Consumer"): ("consumer", ConfluentConsumer),
    ("kafka", "KafkaProducer"): ("producer", KafkaPythonProducer),
    ("kafka", "KafkaConsumer"): ("consumer", KafkaPythonConsumer),
    ("aiokafka", "AIOKafkaProducer"): ("producer", AioKafkaProducer),
    ("aiokafka", "AIOKafkaConsumer"): ("consumer", AioKafkaConsumer),
    ("broker_client", "Producer"): ("producer", OurProducer),
    ("broker_client", "AsyncProducer"): ("producer", OurAsyncProducer),
    ("broker_client", "Consumer"): ("consumer", OurConsumer),
    ("broker_client", "AsyncConsumer"): ("consumer", OurAsyncConsumer),
}
"""The root of the module and the name of a class -> the kind of client and its adapter. cimpl is confluent-kafka's."""


def wrapped(client: object, book: LedgerBook, name: str | None) -> Any:
    """Return a client that behaves as `client` and records in a book. Raises ScenarioError for an unknown class."""
    for base in type(client).__mro__:
        found = ADAPTERS.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            kind, adapter = found
            return adapter(client, book, name or book.name(kind))
    raise ScenarioError(
        f"a ledger cannot wrap {type(client).__module__}.{type(client).__qualname__}: expected a producer or consumer "
        "of confluent-kafka, kafka-python, aiokafka or broker_client; hand its records in by sent, acked and consumed"
    )
