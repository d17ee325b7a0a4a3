"""In which versions a release's followers ask their leaders. Mirrors MetadataVersion.fetchRequestVersion and its like.

What a follower does hangs on them: it cuts its log where a Fetch told it to (KIP-595, Fetch v12), before that where
OffsetForLeaderEpoch told it to (KIP-101), before that at its own high watermark; leaders know since Fetch v9 in which
leader epoch a follower thinks they are (KIP-320).
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
        """Whether the answer to a Fetch says where the logs part."""
        return self.fetch >= TRUNCATION_ON_FETCH_LOWEST

    @property
    def names_leader_epochs(self) -> bool:
        """Whether a Fetch carries the leader epoch that the follower knows."""
        return self.fetch >= LEADER_EPOCHS_LOWEST


@cache
def follower_versions(release: str) -> FollowerVersions:
    """The versions that brokers of one release, and of its protocol, use among themselves: the newest."""
    api_versions = releases.get(release).api_versions
    epochs = api_versions.get(OffsetForLeaderEpochRequest.API_KEY)
    return FollowerVersions(
        fetch=api_versions[FetchRequest.API_KEY].highest,
        list_offsets=api_versions[ListOffsetsRequest.API_KEY].highest,
        offset_for_leader_epoch=None if epochs is None else epochs.highest,
    )
