"""What each connected node speaks. Mirrors ApiVersions and NodeApiVersions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.errors import UnsupportedVersion
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message
    from protocol_specs.messages.api_versions import ApiVersionsResponse

__all__ = ["ApiVersions", "NodeApiVersions"]


class NodeApiVersions:
    """The version ranges that one node announced."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Mapping[int, VersionRange]) -> None:
        self.ranges = dict(ranges)

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> NodeApiVersions:
        """Read the answer to ApiVersions."""
        return cls({api.api_key: VersionRange(api.min_version, api.max_version) for api in response.api_keys})

    def latest_usable(self, request: type[Message], highest: int | None = None) -> int:
        """The newest version that both sides speak; raises UnsupportedVersion naming both ranges."""
        ours = request.VERSIONS
        if highest is not None:
            ours = VersionRange(ours.lowest, min(ours.highest, highest))
        theirs = self.ranges.get(request.API_KEY)
        if theirs is None:
            raise UnsupportedVersion(f"the node does not support {request.NAME}")
        both = ours.intersection(theirs)
        if both.lowest > both.highest:
            raise UnsupportedVersion(
                f"the node supports {request.NAME} {theirs}, this client {ours}: no version in common"
            )
        return both.highest


class ApiVersions:
    """By node id, while the node is connected."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[int, NodeApiVersions] = {}

    def update(self, node_id: int, versions: NodeApiVersions) -> None:
        """A node has answered."""
        self._nodes[node_id] = versions

    def remove(self, node_id: int) -> None:
        """A node is gone."""
        self._nodes.pop(node_id, None)

    def get(self, node_id: int) -> NodeApiVersions | None:
        """What the node announced, None before it has."""
        return self._nodes.get(node_id)
