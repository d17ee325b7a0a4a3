"""The differences between releases in ZooKeeper mode, derived from the versions of their APIs.

Mirrors Kafka's decisions by inter.broker.protocol.version, which is here always the release's own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from protocol_specs.releases import Release


UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperBehaviour:
    """The versions of the controller's requests, and the behaviour that comes with them."""

    leader_and_isr_version: int
    stop_replica_version: int
    update_metadata_version: int
    controlled_shutdown_version: int
    alter_partition_version: int | None
    """None: a leader writes its ISR to ZooKeeper itself, as before 2.7."""
    writes_are_fenced: bool
    """A controller that has been succeeded cannot write to ZooKeeper any more (from 2.1 on)."""
    refuses_newer_broker_epochs: bool
    """A broker rejects requests for a later incarnation, as before 2.5 (else its own epoch is merely late)."""
    marks_foreign_partitions_offline: bool
    """A LeaderAndIsr for a partition that is not the broker's own makes it offline there, as from 1.0 to 3.0."""
    serves_topics_once: bool
    """A topic that a request names twice has one result, as before 2.3, when results were maps by topic."""
    topic_ids: bool
    """Topics have ids (KIP-516, from 2.8 on); without them a topic is identified by its name."""

    @classmethod
    def of(cls, release: Release) -> Self:
        """Return the behaviour of a release in ZooKeeper mode."""
        versions = {key: item.highest for key, item in release.api_versions.items()}
        leader_and_isr = versions[ApiKey.LEADER_AND_ISR]
        return cls(
            leader_and_isr_version=leader_and_isr,
            stop_replica_version=versions[ApiKey.STOP_REPLICA],
            update_metadata_version=versions[ApiKey.UPDATE_METADATA],
            controlled_shutdown_version=versions[ApiKey.CONTROLLED_SHUTDOWN],
            alter_partition_version=versions.get(ApiKey.ALTER_PARTITION),
            writes_are_fenced=versions[ApiKey.FETCH] >= 10,
            refuses_newer_broker_epochs=versions.get(ApiKey.INIT_PRODUCER_ID, 0) < 3,
            marks_foreign_partitions_offline=leader_and_isr >= 1 and versions[ApiKey.FETCH] < 13,
            serves_topics_once=versions[ApiKey.METADATA] < 8,
            topic_ids=leader_and_isr >= 5,
        )


def id_of_name(topic: str) -> bytes:
    """Return a substitute for the id of a topic without one: a topic that is recreated under its name is the same."""
    return hashlib.sha256(topic.encode()).digest()[:UUID_BYTES]
