"""The cluster: its brokers, its metadata quorum, its features. Mirrors KafkaAdminClient; KIP-584, KIP-700, KIP-836.

Any node serves the calls; features are updated by the controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import ANY, CONTROLLER
from broker_client.core.admin.topics import uncreating
from broker_client.core.network.cluster import Node
from broker_client.core.network.version_negotiation import CLIENT_SOFTWARE_NAME
from broker_client.errors import BrokerError, UnsupportedVersion
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    ReplicaState,
    TopicData,
)
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from protocol_specs.uuids import ZERO_UUID, to_text
from sim_runtime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.messages.api_versions import ApiVersionsResponse
    from protocol_specs.messages.describe_cluster import DescribeClusterResponse
    from protocol_specs.messages.describe_quorum import DescribeQuorumResponse
    from protocol_specs.messages.metadata import MetadataResponse

__all__ = [
    "ClusterCalls",
    "ClusterDescription",
    "FeatureMetadata",
    "FeatureUpdate",
    "FeatureUpgradeType",
    "QuorumInfo",
    "QuorumReplica",
    "VersionLevels",
]

METADATA_TOPIC: Final = "__cluster_metadata"
_UNKNOWN_OPERATIONS: Final = -(1 << 31)
_FENCED_FROM: Final = 2
_UPGRADE_TYPES_FROM: Final = 1


@dataclass(slots=True, kw_only=True, frozen=True)
class ClusterDescription:
    """Id, brokers and controller. Mirrors DescribeClusterResult.

    With KRaft `controller` is any broker, which passes on what is for the controller. `cluster_id` is None before
    0.10.1. `fenced` are the ids of brokers that are registered and may not lead, if they were requested.
    """

    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]
    fenced: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True, frozen=True)
class QuorumReplica:
    """A voter or observer; times in ms are None if the leader does not report them. Mirrors QuorumInfo.ReplicaState."""

    replica_id: int
    directory_id: str | None
    log_end_offset: int
    last_fetch_timestamp_ms: int | None
    last_caught_up_timestamp_ms: int | None


@dataclass(slots=True, kw_only=True, frozen=True)
class QuorumInfo:
    """The quorum of the metadata log; `nodes`: "NAME://host:port" of each node's listeners. Mirrors QuorumInfo."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    nodes: Mapping[int, tuple[str, ...]]


@dataclass(slots=True, kw_only=True, frozen=True)
class VersionLevels:
    """The levels of a feature, both ends included. Mirrors FinalizedVersionRange and SupportedVersionRange."""

    lowest: int
    highest: int


@dataclass(slots=True, kw_only=True, frozen=True)
class FeatureMetadata:
    """The features finalized in the cluster and those that the queried broker supports. Mirrors FeatureMetadata.

    `finalized_epoch` is None where nothing is (before 2.7).
    """

    finalized: Mapping[str, VersionLevels]
    finalized_epoch: int | None
    supported: Mapping[str, VersionLevels]


class FeatureUpgradeType(IntEnum):
    """How far an update may go. Mirrors FeatureUpdate.UpgradeType."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(slots=True, kw_only=True, frozen=True)
class FeatureUpdate:
    """A level to finalize; 0 takes the feature out. Mirrors FeatureUpdate."""

    max_version_level: int
    upgrade_type: FeatureUpgradeType = FeatureUpgradeType.UPGRADE


class ClusterCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_cluster(self, *, include_fenced_brokers: bool = False) -> ClusterDescription:
        """Brokers and controller; from Metadata where brokers lack DescribeCluster (before 2.8)."""

        def build(version: int, timeout_ms: int) -> DescribeClusterRequest:
            del timeout_ms
            if include_fenced_brokers and version < _FENCED_FROM:
                raise UnsupportedVersion(
                    f"fenced brokers are reported from DescribeCluster v{_FENCED_FROM} (Kafka 4.0) on, "
                    f"the node speaks v{version}"
                )
            return DescribeClusterRequest(include_fenced_brokers=include_fenced_brokers)

        try:
            response: DescribeClusterResponse = await self._calls.request(
                DescribeClusterRequest,
                build,
                route=ANY,
                error=lambda response: (response.error_code, response.error_message),
            )
        except UnsupportedVersion:
            if include_fenced_brokers:
                raise
            return await self._cluster_by_metadata()
        nodes = {one.broker_id: Node(one.broker_id, one.host, one.port, one.rack) for one in response.brokers}
        return ClusterDescription(
            cluster_id=response.cluster_id,
            controller=nodes.get(response.controller_id),
            nodes=tuple(nodes[node_id] for node_id in sorted(nodes)),
            fenced=tuple(sorted(one.broker_id for one in response.brokers if one.is_fenced)),
        )

    async def _cluster_by_metadata(self) -> ClusterDescription:
        response: MetadataResponse = await self._calls.request(
            MetadataRequest, lambda version, _: uncreating(version, []), route=ANY
        )
        nodes = {one.node_id: Node(one.node_id, one.host, one.port, one.rack) for one in response.brokers}
        return ClusterDescription(
            cluster_id=response.cluster_id,
            controller=nodes.get(response.controller_id),
            nodes=tuple(nodes[node_id] for node_id in sorted(nodes)),
        )

    async def describe_metadata_quorum(self) -> QuorumInfo:
        """Leader, voters and observers of the metadata log; raises UnsupportedVersion where there is none."""
        response: DescribeQuorumResponse = await self._calls.request(
            DescribeQuorumRequest,
            lambda *_: DescribeQuorumRequest(
                topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])]
            ),
            route=ANY,
            error=_quorum_error,
        )
        partition = response.topics[0].partitions[0]
        return QuorumInfo(
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            high_watermark=partition.high_watermark,
            voters=tuple(map(_quorum_replica, partition.current_voters)),
            observers=tuple(map(_quorum_replica, partition.observers)),
            nodes={
                node.node_id: tuple(f"{one.name}://{one.host}:{one.port}" for one in node.listeners)
                for node in response.nodes
            },
        )

    async def describe_features(self) -> FeatureMetadata:
        """Finalized and supported features, by name."""
        response: ApiVersionsResponse = await self._calls.request(
            ApiVersionsRequest,
            lambda *_: ApiVersionsRequest(client_software_name=CLIENT_SOFTWARE_NAME, client_software_version=VERSION),
            route=ANY,
            error=lambda response: (response.error_code, None),
        )
        epoch = response.finalized_features_epoch
        return FeatureMetadata(
            finalized={
                one.name: VersionLevels(lowest=one.min_version_level, highest=one.max_version_level)
                for one in response.finalized_features
            },
            finalized_epoch=epoch if epoch >= 0 else None,
            supported={
                one.name: VersionLevels(lowest=one.min_version, highest=one.max_version)
                for one in response.supported_features
            },
        )

    async def update_features(self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False) -> None:
        """Finalize features at other levels, or only try; raises ItemsFailed by feature."""

        def build(version: int, names: list[str], timeout_ms: int) -> UpdateFeaturesRequest:
            return UpdateFeaturesRequest(
                timeout_ms=timeout_ms,
                feature_updates=[_update(name, updates[name], version) for name in names],
                validate_only=validate_only,
            )

        def take(response: Any, requested: list[str], outcomes: Outcomes[str, None]) -> None:
            for result in response.results:
                outcomes.take(result.feature, result.error_code, result.error_message, None)
            # From v2 on there is one code for all; before, it stands beside those of the features.
            for name in requested:
                outcomes.take(
                    name, response.error_code, response.error_message, None, retried=(ErrorCode.NOT_CONTROLLER,)
                )

        call = ItemCall(kind=UpdateFeaturesRequest, route=CONTROLLER, build=build, take=take)
        await self._calls.settle(list(updates), call)


def _update(name: str, update: FeatureUpdate, version: int) -> FeatureUpdateKey:
    if version >= _UPGRADE_TYPES_FROM:
        return FeatureUpdateKey(
            feature=name, max_version_level=update.max_version_level, upgrade_type=update.upgrade_type
        )
    return FeatureUpdateKey(
        feature=name,
        max_version_level=update.max_version_level,
        allow_downgrade=update.upgrade_type is not FeatureUpgradeType.UPGRADE,
    )


def _quorum_error(response: DescribeQuorumResponse) -> tuple[int, str | None]:
    if response.error_code:
        return response.error_code, response.error_message
    partitions = [one for topic in response.topics if topic.topic_name == METADATA_TOPIC for one in topic.partitions]
    if len(response.topics) != 1 or len(partitions) != 1:
        raise BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, f"DescribeQuorum returned {len(partitions)} metadata logs")
    return partitions[0].error_code, partitions[0].error_message


def _quorum_replica(state: ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        replica_id=state.replica_id,
        directory_id=None if state.replica_directory_id == ZERO_UUID else to_text(state.replica_directory_id),
        log_end_offset=state.log_end_offset,
        last_fetch_timestamp_ms=state.last_fetch_timestamp if state.last_fetch_timestamp >= 0 else None,
        last_caught_up_timestamp_ms=state.last_caught_up_timestamp if state.last_caught_up_timestamp >= 0 else None,
    )
