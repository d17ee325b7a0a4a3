"""Topic ids in the offset APIs, which have no names from version 10 on (KIP-848). Mirrors forTopicIdsOrNames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_client.core.network.client_core import ClientCore

__all__ = ["TOPIC_NAMES_UP_TO", "TopicIds"]

TOPIC_NAMES_UP_TO: Final = 9
"""The last version of OffsetCommit and OffsetFetch with topic names."""


class TopicIds:
    """The ids of the newest metadata, and the names of ids that were sent."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core
        self._names: dict[bytes, str] = {}

    def highest_version(self, topics: Iterable[str]) -> int | None:
        """The highest version that can name these topics; None is the newest."""
        cluster = self._core.metadata.cluster
        return None if all(cluster.topic_id(topic) for topic in topics) else TOPIC_NAMES_UP_TO

    def id_of(self, topic: str) -> bytes:
        """The id of a topic that `highest_version` found."""
        topic_id = self._core.metadata.cluster.topic_id(topic)
        assert topic_id is not None, "the version was chosen for it"
        self._names[topic_id] = topic
        return topic_id

    def name_of(self, topic_id: bytes) -> str:
        """The name of a topic whose id was sent, else an empty text."""
        return self._names.get(topic_id, "")
