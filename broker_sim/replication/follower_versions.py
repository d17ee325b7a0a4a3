"""The API versions that a release's followers use. Mirrors MetadataVersion.fetchRequestVersion and similar methods.

They decide how a follower truncates its log: at the diverging epoch of a Fetch response (KIP-595, since Fetch v12),
before that at the offset of an OffsetForLeaderEpoch response (KIP-101), before that at its own high watermark. Since
Fetch v9 a request carries the leader epoch that the follower expects (KIP-320).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from protocol_specs import releases
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.list_offsets import ListOffsetsRequest
from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

__all__ = ["FollowerVersions", "follower_versions"]

TRUNCATION_ON_FETCH_LOWEST: Final = 12
LEADER_EPOCHS_LOWEST: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerVersions:
    """A version for each API that followers use, None for one that the release does not have."""

    fetch: int
    list_offsets: int
    offset_for_leader_epoch: int | None

    @property
    def truncates_on_fetch(self) -> bool:
        """True if the Fetch response has the diverging epoch (KIP-595)."""
        return self.fetch >= TRUNCATION_ON_FETCH_LOWEST

    @property
    def names_leader_epochs(self) -> bool:
        """True if a Fetch carries the follower's leader epoch (KIP-320)."""
        return self.fetch >= LEADER_EPOCHS_LOWEST


@cache
def follower_versions(release: str) -> FollowerVersions:
    """Return the newest versions of a release: its brokers use them among themselves."""
    api_versions = releases.get(release).api_versions
    epochs = api_versions.get(OffsetForLeaderEpochRequest.API_KEY)
    return FollowerVersions(
        fetch=api_versions[FetchRequest.API_KEY].highest,
        list_offsets=api_versions[ListOffsetsRequest.API_KEY].highest,
        offset_for_leader_epoch=None if epochs is None else epochs.highest,
    )
