"""The configurations that serve the consumer protocol. Mirrors KafkaApis.isConsumerGroupProtocolEnabled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["serves_consumer_groups"]

_FEATURE: Final = "group.version"


def serves_consumer_groups(config: BrokerConfig, image: MetadataImage) -> bool:
    """Return True if the configuration has the protocol, and the feature of the cluster where there is one.

    3.7 has no feature; its new coordinator is an early access, which has the protocol also if the list is without it.
    """
    if config.behaviour.consumer_groups_are_first_previews:
        return not uses_old_coordinator(config)
    protocols = config.values.get("group.coordinator.rebalance.protocols")
    if not isinstance(protocols, list) or "consumer" not in (each.lower() for each in protocols):
        return False
    if not config.behaviour.consumer_groups_need_a_feature:
        return True
    return image.finalized_features.get(_FEATURE, 0) > 0
