"""Which configurations something in the simulator acts on; all others are known, checked and shown alone."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from broker_sim.config.broker_config import acts_on, counts
from broker_sim.config.config_names import base_name
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.config.topic_config import TopicConfig

# Those that TopicConfig keeps under another name than their own.
_OTHERWISE_READ: Final = {
    "cleanup.policy",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "internal.segment.bytes",
    "leader.replication.throttled.replicas",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
}
_TOPIC: Final = frozenset(field.name.replace("_", ".") for field in fields(TopicConfig)) | _OTHERWISE_READ


def has_effect(name: str, release: str | None = None) -> bool:
    """Return True if a broker configuration, also one of a listener, has an effect: in a release, or in any."""
    return acts_on(base_name(name), None if release is None else behaviour_of(release))


def topic_config_has_effect(name: str, release: str | None = None) -> bool:
    """Return True if a topic configuration has an effect in the simulator: in a release, or in any."""
    return name in _TOPIC and (release is None or counts(name, behaviour_of(release)))
