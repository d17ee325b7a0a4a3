"""The configurations and the differences between releases that consumer groups depend on."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.assignors.preview_uniform_assignor import PreviewUniformAssignor
from broker_sim.coordinators.groups.assignors.range_assignor import RangeAssignor
from broker_sim.coordinators.groups.assignors.sticky_range_assignor import StickyRangeAssignor
from broker_sim.coordinators.groups.assignors.uniform_assignor import UniformAssignor
from broker_sim.coordinators.groups.group_configs import group_config_int
from broker_sim.coordinators.groups.modern.subscription_metadata import metadata_hash, topic_metadata

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.coordinators.groups.assignors.assignor import PartitionAssignor
    from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata
    from broker_sim.coordinators.runtime.shard import ShardContext

__all__ = ["ConsumerConfig", "supported_assignors"]

_CLASS_PREFIX: Final = "org.apache.kafka.coordinator.group.assignor."


def supported_assignors(config: BrokerConfig) -> list[str]:
    """Return the names of group.consumer.assignors, which may be those of their classes."""
    names = config.values["group.consumer.assignors"]
    assert isinstance(names, list)
    found = [name.removeprefix(_CLASS_PREFIX).removesuffix("Assignor").lower() for name in names]
    return [name for name in found if name in _assignors_of(config.behaviour)]


@cache
def _assignors_of(behaviour: ReleaseBehaviour) -> Mapping[str, PartitionAssignor]:
    """Return the assignors of a release by name."""
    uniform: PartitionAssignor = UniformAssignor(extras_stay=behaviour.uniform_extras_stay)
    if behaviour.consumer_groups_are_first_previews:
        uniform = PreviewUniformAssignor()
    range_assignor = StickyRangeAssignor() if behaviour.range_assignor_is_sticky else RangeAssignor()
    return {assignor.name: assignor for assignor in (uniform, range_assignor)}


class ConsumerConfig:
    """Reads the present configuration at each use: groups can change theirs at any time."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._host = context.host
        self.behaviour = context.config.behaviour

    @property
    def assignors(self) -> Mapping[str, PartitionAssignor]:
        """The assignors of group.consumer.assignors by name; the first is the default."""
        built_in = _assignors_of(self.behaviour)
        return {name: built_in[name] for name in supported_assignors(self._host.config)}

    @property
    def max_size(self) -> int:
        """The number of members that a group may have."""
        return self._int("group.consumer.max.size")

    @property
    def classic_max_size(self) -> int:
        """The number of members that a classic group may have."""
        return self._int("group.max.size")

    @property
    def regex_refresh_ms(self) -> int:
        """How old the topics of a regular expression may be."""
        return self._int("group.consumer.regex.refresh.interval.ms")

    @property
    def upgrades(self) -> bool:
        """True if a classic group becomes a consumer group while it has members."""
        return self._policy in ("upgrade", "bidirectional")

    @property
    def downgrades(self) -> bool:
        """True if a consumer group becomes a classic group while it has members."""
        return self._policy in ("downgrade", "bidirectional")

    @property
    def refuses_classic_members(self) -> bool:
        """True if classic members cannot join consumer groups."""
        return self._policy == "disabled"

    @property
    def _policy(self) -> str:
        return str(self._host.config.values.get("group.consumer.migration.policy", "disabled")).lower()

    def session_timeout_ms(self, group_id: str) -> int:
        """Return the session time-out of a group's members."""
        return group_config_int(self._host, group_id, "consumer.session.timeout.ms")

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """Return the interval between heartbeats that members receive."""
        return group_config_int(self._host, group_id, "consumer.heartbeat.interval.ms")

    def assignment_interval_ms(self, group_id: str) -> int:
        """Return the shortest interval between two target assignments; 0 before 4.3."""
        return group_config_int(self._host, group_id, "consumer.assignment.interval.ms")

    def fingerprint(self, topics: Collection[str]) -> int | Mapping[str, TopicMetadata]:
        """Return the hash of topics, or their metadata before 4.1; nothing exists: 0 or an empty mapping."""
        image = self._host.metadata_cache.image
        if self.behaviour.groups_hash_their_topics:
            return metadata_hash(image, topics)
        return topic_metadata(image, topics, racks=self.behaviour.groups_record_racks)

    def _int(self, name: str) -> int:
        value = self._host.config.values.get(name, 0)
        assert isinstance(value, int)
        return value
