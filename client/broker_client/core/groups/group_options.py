"""The settings of a member of a group, under Kafka's names and with its defaults. Mirrors GroupRebalanceConfig."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_client.core.groups.assignors.assignor import PartitionAssignor

__all__ = ["GroupOptions"]


@dataclass(slots=True, kw_only=True)
class GroupOptions:
    """Times are in milliseconds. `group_protocol` is "classic" or "consumer" (KIP-848)."""

    group_id: str
    group_instance_id: str | None = None
    group_protocol: str = "classic"
    group_remote_assignor: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    client_rack: str = ""
    exclude_internal_topics: bool = True
    assignors: list[PartitionAssignor] = field(default_factory=list)
