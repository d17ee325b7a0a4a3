"""The API versions of each connected node. Mirrors ApiVersions and NodeApiVersions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from broker_client.errors import UnsupportedVersion
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import decode_response
from protocol_specs.messages.api_versions import ApiVersionsResponse
from protocol_specs.records.batch_peek import MAGIC_V2
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message

__all__ = ["ApiVersions", "NodeApiVersions", "decode_versions"]

NO_FINALIZED_FEATURES_EPOCH: Final = -1
# The newest message format that a Produce of each version may carry. Mirrors RecordBatch.requiredMagicForProduce.
_MAGIC_OF_PRODUCE: Final = (0, 0, 1)
# Every connection has the same few ranges.
_range_of: Final = lru_cache(maxsize=512)(VersionRange)
_RESPONSES_KEPT: Final = 64
_CORRELATION_BYTES: Final = 4


class NodeApiVersions:
    """The version ranges that one node announced."""

    __slots__ = ("_usable", "finalized_features", "finalized_features_epoch", "ranges")

    def __init__(
        self,
        ranges: Mapping[int, VersionRange],
        finalized_features: Mapping[str, int] | None = None,
        finalized_features_epoch: int = NO_FINALIZED_FEATURES_EPOCH,
    ) -> None:
        self.ranges = dict(ranges)
        self._usable: dict[tuple[type[Message], int | None], int] = {}
        self.finalized_features = dict(finalized_features or {})
        self.finalized_features_epoch = finalized_features_epoch

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> NodeApiVersions:
        """Read a response to ApiVersions."""
        return cls(
            {api.api_key: _range_of(api.min_version, api.max_version) for api in response.api_keys},
            {feature.name: feature.max_version_level for feature in response.finalized_features},
            response.finalized_features_epoch,
        )

    def latest_usable(self, request: type[Message], highest: int | None = None) -> int:
        """The newest version that both sides speak; raises UnsupportedVersion naming both ranges."""
        known = self._usable.get((request, highest))
        if known is None:
            known = self._usable[request, highest] = self._latest_usable(request, highest)
        return known

    def _latest_usable(self, request: type[Message], highest: int | None) -> int:
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

    @property
    def usable_produce_magic(self) -> int:
        """The newest message format that the node's Produce takes; 2 for a node without it, a controller."""
        produce = self.ranges.get(ApiKey.PRODUCE)
        if produce is None or produce.highest >= len(_MAGIC_OF_PRODUCE):
            return MAGIC_V2
        return _MAGIC_OF_PRODUCE[produce.highest]


class ApiVersions:
    """By node id, while the node is connected; the cluster's finalized features stay (KIP-584).

    `max_usable_produce_magic` is the newest message format that all of the nodes take; any thread may read it.
    """

    __slots__ = ("_nodes", "finalized_features", "max_finalized_features_epoch", "max_usable_produce_magic")

    def __init__(self) -> None:
        self.max_usable_produce_magic = MAGIC_V2
        self._nodes: dict[int, NodeApiVersions] = {}
        self.finalized_features: Mapping[str, int] = {}
        self.max_finalized_features_epoch = NO_FINALIZED_FEATURES_EPOCH

    def update(self, node_id: int, versions: NodeApiVersions) -> None:
        """Record the response of a node; of the finalized features the newest epoch counts."""
        self._nodes[node_id] = versions
        self._update_magic()
        if self.max_finalized_features_epoch < versions.finalized_features_epoch:
            self.max_finalized_features_epoch = versions.finalized_features_epoch
            self.finalized_features = versions.finalized_features

    def remove(self, node_id: int) -> None:
        """A node is gone."""
        self._nodes.pop(node_id, None)
        self._update_magic()

    def get(self, node_id: int) -> NodeApiVersions | None:
        """The versions of a node, None before its response."""
        return self._nodes.get(node_id)

    def nodes_of_older_formats(self) -> dict[int, NodeApiVersions]:
        """The nodes that do not take record batches, by id."""
        return {node_id: node for node_id, node in self._nodes.items() if node.usable_produce_magic < MAGIC_V2}

    def _update_magic(self) -> None:
        magics = [node.usable_produce_magic for node in self._nodes.values()]
        self.max_usable_produce_magic = min(magics, default=MAGIC_V2)


def decode_versions(version: int, payload: bytes) -> tuple[int, ApiVersionsResponse]:
    """Decode as `decode_response`. The connections to a cluster get equal responses, and share one message."""
    correlation_id = int.from_bytes(payload[:_CORRELATION_BYTES], "big", signed=True)
    return correlation_id, _decoded(version, payload[_CORRELATION_BYTES:])


@lru_cache(_RESPONSES_KEPT)
def _decoded(version: int, body: bytes) -> ApiVersionsResponse:
    return decode_response(ApiVersionsResponse, version, bytes(_CORRELATION_BYTES) + body)[1]
