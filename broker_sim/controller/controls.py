"""The managers of one controller, one per group of APIs. Mirrors the managers of QuorumController."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.controller.acl_control import AclControl
from broker_sim.controller.client_quota_control import ClientQuotaControl
from broker_sim.controller.cluster_control import ClusterControl
from broker_sim.controller.config_control import ConfigControl
from broker_sim.controller.feature_control import FeatureControl
from broker_sim.controller.partition_control import PartitionControl
from broker_sim.controller.scram_control import ScramControl
from broker_sim.controller.token_control import TokenControl
from broker_sim.controller.topic_control import TopicControl

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller
    from broker_sim.controller.quorum_description import QuorumDescription
    from sim_runtime.random_streams import RandomStreams

__all__ = ["ControllerControls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerControls:
    """The control managers behind the API handlers, on the active controller alone."""

    configs: ConfigControl
    topics: TopicControl
    partitions: PartitionControl
    client_quotas: ClientQuotaControl
    scram: ScramControl
    tokens: TokenControl
    acls: AclControl
    features: FeatureControl
    quorum: QuorumDescription
    cluster: ClusterControl

    @classmethod
    def of(
        cls, controller: Controller, *, config: BrokerConfig, streams: RandomStreams, quorum: QuorumDescription
    ) -> ControllerControls:
        """Make the managers of a controller."""
        return cls(
            configs=ConfigControl(controller),
            topics=TopicControl(controller, random=streams.stream("topic control")),
            partitions=PartitionControl(controller, config=config, random=streams.stream("partition control")),
            client_quotas=ClientQuotaControl(controller),
            scram=ScramControl(controller, names_the_feature=config.behaviour.scram_refusals_name_the_feature),
            tokens=TokenControl(controller, config=config, random=streams.stream("delegation tokens")),
            acls=AclControl(
                controller,
                random=streams.stream("acl control"),
                types_are_checked=config.behaviour.acl_principals_have_types,
            ),
            features=FeatureControl(controller, config=config, node_id=quorum.leader_id),
            quorum=quorum,
            cluster=ClusterControl(controller, config=config, quorum=quorum),
        )
