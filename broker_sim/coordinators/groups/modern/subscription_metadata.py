"""The fingerprint of the topics of a group: its change makes a new epoch. Mirrors Utils.computeGroupHash (KIP-1101).

Up to 4.0 the fingerprint is the metadata itself, which a record of its own keeps; since 4.1 it is a hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.metadata.metadata_image import MetadataImage, TopicImage

__all__ = ["TopicMetadata", "topic_metadata", "topic_racks"]


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic as the records up to 4.0 describe it; the racks of each partition's replicas only in 3.x."""

    topic_id: bytes
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


def topic_metadata(image: MetadataImage, names: Iterable[str], *, racks: bool) -> Mapping[str, TopicMetadata]:
    """Return the metadata of the topics that exist, by name."""
    found = {}
    for name in names:
        topic = image.topics.get(name)
        if topic is not None:
            racks_of = topic_racks(image, topic) if racks else ()
            found[name] = TopicMetadata(topic.topic_id, len(topic.partitions), racks_of)
    return found


def topic_racks(image: MetadataImage, topic: TopicImage) -> tuple[tuple[str, ...], ...]:
    """Return the racks of the replicas of each partition, sorted."""
    racks = {broker_id: broker.rack for broker_id, broker in image.brokers.items() if broker.rack is not None}
    return tuple(
        tuple(sorted({racks[replica] for replica in partition.replicas if replica in racks}))
        for partition in topic.partitions
    )
