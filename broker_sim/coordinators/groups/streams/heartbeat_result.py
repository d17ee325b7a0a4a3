"""The result of a heartbeat: a response, and topics for the broker to create. Mirrors StreamsGroupHeartbeatResult."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.streams.configured_topology import InternalTopic
    from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse

__all__ = ["HeartbeatResult"]


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """A response whose status the broker completes if it cannot create `missing_topics`."""

    response: StreamsGroupHeartbeatResponse
    missing_topics: Mapping[str, InternalTopic] = field(default_factory=dict)
