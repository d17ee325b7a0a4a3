"""Which of Kafka's two group coordinators a broker runs: that of before KIP-848, or the new one.

Releases from 3.5 to 3.9 have both, and configurations choose; later ones have the new one alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["is_first_preview", "uses_old_coordinator"]


def uses_old_coordinator(config: BrokerConfig) -> bool:
    """Return True for the old coordinator. Mirrors KafkaConfig.isNewGroupCoordinatorEnabled."""
    if not config.behaviour.old_group_coordinator:
        return False
    protocols = config.values.get("group.coordinator.rebalance.protocols")
    serves_consumer_protocol = isinstance(protocols, (list, tuple)) and "consumer" in protocols
    return not (config.values.get("group.coordinator.new.enable") or serves_consumer_protocol)


def is_first_preview(config: BrokerConfig) -> bool:
    """Return True for the new coordinator as it was in 3.7, the first preview of consumer groups."""
    return config.behaviour.consumer_groups_are_first_previews and not uses_old_coordinator(config)
