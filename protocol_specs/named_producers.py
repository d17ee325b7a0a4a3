"""The producers that a request names: by transactional id, producer id, epoch and sequence (KIP-98)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol_specs.api_key import ApiKey
from protocol_specs.entities import PRODUCER_ID, TRANSACTIONAL_ID, coordinated_keys, structs_with
from protocol_specs.errors import ProtocolError
from protocol_specs.records.batch_peek import iterate_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Message, Struct
    from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

__all__ = ["NamedPartition", "NamedProducer", "producers_of"]

_KEY_OF_A_TRANSACTION: Final = 1
"""The key type of FindCoordinator for which the key is a transactional id."""
_ENTITIES: Final = frozenset({TRANSACTIONAL_ID, PRODUCER_ID})
_EPOCH: Final = "producer_epoch"


class NamedProducer(NamedTuple):
    """One producer as a request names it; None for what that part of the request does not have."""

    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    """The sequence of the first record of a batch."""


class NamedPartition(NamedTuple):
    """A partition of a Produce, whose topic the request names by its name or (from v13 on) by its id."""

    topic: str
    topic_id: bytes | None
    partition: int

    def is_in(self, topic: TopicProduceData, partition: PartitionProduceData) -> bool:
        """Return True for the data of this partition."""
        return partition.index == self.partition and (topic.name == self.topic or topic.topic_id == self.topic_id)


def producers_of(request: Message | None, partition: NamedPartition | None = None) -> list[NamedProducer]:
    """Return the producers that a request names, one per batch, marker or transaction; none if it is not parsed.

    Of a Produce, `partition` selects the batches of one partition; a batch that cannot be read has no producer id.
    """
    if request is None:
        return []
    if request.API_KEY is ApiKey.PRODUCE:
        return list(_of_produce(request, partition))  # type: ignore[arg-type]
    if request.API_KEY is ApiKey.FIND_COORDINATOR:
        return [NamedProducer(key) for key in coordinated_keys(request, _KEY_OF_A_TRANSACTION)]
    return [producer for struct in structs_with(request, _ENTITIES) for producer in _of_struct(struct)]


def _of_produce(request: ProduceRequest, wanted: NamedPartition | None) -> Iterator[NamedProducer]:
    for topic in request.topic_data:
        for partition in topic.partition_data:
            if wanted is None or wanted.is_in(topic, partition):
                yield from _of_batches(request.transactional_id, partition)


def _of_batches(transactional_id: str | None, partition: PartitionProduceData) -> Iterator[NamedProducer]:
    records: Any = partition.records
    try:
        for header, _ in iterate_batches(records or b""):
            yield NamedProducer(transactional_id, header.producer_id, header.producer_epoch, header.base_sequence)
    except ProtocolError:
        yield NamedProducer(transactional_id)


def _of_struct(struct: Struct) -> Iterator[NamedProducer]:
    transactional, producer, epoch = _fields_of(type(struct))  # type: ignore[arg-type]
    producer_epoch = getattr(struct, epoch) if epoch else None
    for transactional_id in _listed(struct, transactional):
        # AddPartitionsToTxn has fields for old versions, which are empty in new ones.
        if transactional_id != "":
            for producer_id in _listed(struct, producer):
                yield NamedProducer(transactional_id, producer_id, producer_epoch)


def _listed(struct: Struct, name: str | None) -> list[Any]:
    value = getattr(struct, name) if name else None
    return value if isinstance(value, list) else [value]


@cache
def _fields_of(cls: type[Struct]) -> tuple[str | None, str | None, str | None]:
    """Return the names of the fields with the transactional id, the producer id and its epoch."""

    def named(entity: str) -> str | None:
        return next((field.name for field in cls.FIELDS if field.entity == entity), None)

    epoch = next((field.name for field in cls.FIELDS if field.name.endswith(_EPOCH)), None)
    return named(TRANSACTIONAL_ID), named(PRODUCER_ID), epoch
