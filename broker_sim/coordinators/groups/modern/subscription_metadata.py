"""The fingerprint of the topics of a group: its change makes a new epoch. Mirrors Utils.computeGroupHash (KIP-1101).

Up to 4.0 the fingerprint is the metadata itself, which a record of its own keeps; since 4.1 it is a hash.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.modern.xxh3 import xxh3_64
from protocol_specs.java_hash import hash_order_of_sized

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from broker_sim.metadata.metadata_image import MetadataImage, TopicImage

__all__ = ["TopicMetadata", "metadata_hash", "partition_racks", "topic_metadata"]

_INT32: Final = struct.Struct("<i")
_UINT64: Final = struct.Struct("<Q")
_MAGIC: Final = b"\x00"
_INT64_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic as the records up to 4.0 describe it; the racks of each partition's replicas only in 3.x."""

    topic_id: bytes
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


def topic_metadata(image: MetadataImage, names: Collection[str], *, racks: bool) -> Mapping[str, TopicMetadata]:
    """Return the metadata of the topics that exist, by name, in the order of a HashMap that was made for all names."""
    found = {}
    for name in names:
        topic = image.topics.get(name)
        if topic is not None:
            racks_of = tuple(tuple(sorted(set(each))) for each in _racks(image, topic)) if racks else ()
            found[name] = TopicMetadata(topic.topic_id, len(topic.partitions), racks_of if any(racks_of) else ())
    return {name: found[name] for name in hash_order_of_sized(found, len(names))}


def partition_racks(image: MetadataImage, topic_id: bytes, partition: int) -> frozenset[str]:
    """Return the racks of the replicas of a partition."""
    return frozenset(_racks(image, image.topics_by_id[topic_id])[partition])


def metadata_hash(image: MetadataImage, names: Iterable[str]) -> int:
    """Return the hash of the topics that exist as a signed number; 0 if there are none."""
    topics = [image.topics[name] for name in sorted(names) if name in image.topics]
    if not topics:
        return 0
    value = xxh3_64(b"".join(_UINT64.pack(_topic_hash(image, topic)) for topic in topics))
    return value - 2 * (value & _INT64_SIGN)


def _topic_hash(image: MetadataImage, topic: TopicImage) -> int:
    parts = [_MAGIC, topic.topic_id[7::-1], topic.topic_id[:7:-1], _string(topic.name)]
    parts.append(_INT32.pack(len(topic.partitions)))
    for partition, racks in enumerate(_racks(image, topic)):
        parts.append(_INT32.pack(partition))
        parts += [_INT32.pack(len(rack)) + _string(rack) for rack in sorted(racks)]
    return xxh3_64(b"".join(parts))


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _INT32.pack(len(units) // 2)


def _racks(image: MetadataImage, topic: TopicImage) -> list[list[str]]:
    """Return the racks of the replicas of each partition."""
    racks = {broker_id: broker.rack for broker_id, broker in image.brokers.items() if broker.rack is not None}
    return [[racks[replica] for replica in partition.replicas if replica in racks] for partition in topic.partitions]
