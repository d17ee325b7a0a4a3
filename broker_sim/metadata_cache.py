"""What one broker knows of the cluster: the newest image that it has applied. Mirrors KRaftMetadataCache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_sim.controller.metadata_image import MetadataImage


class MetadataCache:
    """`image` is what this broker answers from; it may be older than the controller's, never newer."""

    __slots__ = ("image",)

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
