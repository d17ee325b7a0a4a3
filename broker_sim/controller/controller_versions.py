"""In which version a broker sends a message to its controller: the newest that the release's controller takes.

Mirrors NodeApiVersions as NodeToControllerChannelManager asks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from protocol_specs.releases import Release

__all__ = [
    "ALLOCATE_PRODUCER_IDS",
    "ALTER_PARTITION",
    "BROKER_HEARTBEAT",
    "BROKER_REGISTRATION",
    "FETCH",
    "FETCH_SNAPSHOT",
    "controller_version",
]

FETCH: Final = 1
ALTER_PARTITION: Final = 56
FETCH_SNAPSHOT: Final = 59
BROKER_REGISTRATION: Final = 62
BROKER_HEARTBEAT: Final = 63
ALLOCATE_PRODUCER_IDS: Final = 67


def controller_version(release: Release, api_key: int) -> int:
    """The version of an API that brokers of a release use; 0 for one that its controllers do not list."""
    listener = release.listeners.get("controller") or release.listeners["broker"]
    versions = listener.api_versions.get(api_key)
    return 0 if versions is None else versions.highest
