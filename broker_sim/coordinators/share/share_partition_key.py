"""The key of a share partition: a group and a topic's partition. Mirrors SharePartitionKey (KIP-932)."""

from __future__ import annotations

from typing import NamedTuple

from protocol_specs import uuids

__all__ = ["SharePartitionKey"]


class SharePartitionKey(NamedTuple):
    """A share group's view of one partition."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def text(self) -> str:
        """The key as FindCoordinator has it; its hash selects the partition of `__share_group_state`."""
        return f"{self.group_id}:{uuids.to_text(self.topic_id)}:{self.partition}"
