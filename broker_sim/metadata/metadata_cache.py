"""One broker's metadata: the newest image that it has applied. Mirrors KRaftMetadataCache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from broker_sim.metadata.metadata_image import MetadataImage, TopicImage
    from protocol_specs.messages.metadata import MetadataResponsePartition

VIEWS_MAX: Final = 8
"""Clients of several versions and listeners each have a view."""
GONE_MAX: Final = 100
"""The limit of remembered topics that no longer exist."""


class MetadataCache:
    """`image` is the source of this broker's responses; it may be older than the controller's, never newer."""

    __slots__ = ("_described", "image")

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self._described: dict[Hashable, dict[str, tuple[TopicImage, list[MetadataResponsePartition]]]] = {}

    def described(self, view: Hashable) -> dict[str, tuple[TopicImage, list[MetadataResponsePartition]]]:
        """Topics as they were last described in one view, by name; the describing handler keeps this up to date.

        A view is everything except the topic that a description depends on. A topic that changes is another object.
        """
        found = self._described.get(view)
        if found is None:
            if len(self._described) >= VIEWS_MAX:
                self._described.clear()
            found = self._described[view] = {}
        elif len(found) > 2 * len(self.image.topics) + GONE_MAX:
            found.clear()
        return found
