"""The release whose versions brokers use among themselves: that of the finalized metadata.version.

Mirrors how MetadataVersion gives the version of a follower's Fetch. In a cluster of one release it is that release.
"""

from __future__ import annotations

from functools import cache

from broker_sim.metadata.metadata_records import METADATA_VERSION
from protocol_specs import releases

__all__ = ["protocol_release"]


@cache
def protocol_release(name: str, level: int) -> str:
    """Return the newest release up to a broker's own that has no metadata.version above the finalized level.

    Level 0 is a cluster without one, and gives the broker's own release.
    """
    own = releases.get(name)
    if not level or _highest(own) <= level:
        return name
    older = [each for each in map(releases.get, releases.names()) if each.version < own.version]
    return max((each for each in older if 0 < _highest(each) <= level), key=lambda each: each.version, default=own).name


def _highest(release: releases.Release) -> int:
    levels = release.supported_features.get(METADATA_VERSION)
    return 0 if levels is None else levels.highest
