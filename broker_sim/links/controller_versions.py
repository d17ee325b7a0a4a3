"""The version in which a broker sends a message to its controller: the newest that the controller accepts.

Mirrors NodeApiVersions as NodeToControllerChannelManager uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol_specs.api_key import ApiKey
    from protocol_specs.releases import Release

__all__ = ["controller_version"]


def controller_version(release: Release, api_key: ApiKey) -> int:
    """The version of an API that brokers of a release use; 0 for one that its controllers do not list."""
    listener = release.listeners.get("controller") or release.listeners["broker"]
    versions = listener.api_versions.get(api_key)
    return 0 if versions is None else versions.highest
