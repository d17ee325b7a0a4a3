"""Fast path that makes the bytes of a coordinator's batch when they are read: consumers seldom read internal topics.

docs/design/fast-paths.md has the measured gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.log.stored_batch import StoredBatch

if TYPE_CHECKING:
    from protocol_specs.records.lone_batch import LoneBatch

__all__ = ["BuiltBatch"]


class BuiltBatch(StoredBatch):
    """A batch whose bytes are made by the first read of `data`; until then it has them in parts."""

    __slots__ = ("bytes_or_parts",)

    bytes_or_parts: bytes | LoneBatch

    @property
    def data(self) -> bytes:
        """The bytes with the fields that the log assigned."""
        if not isinstance(self.bytes_or_parts, bytes):
            self.bytes_or_parts = self.bytes_or_parts.placed(self.base_offset, self.leader_epoch)
        return self.bytes_or_parts

    @data.setter
    def data(self, data: bytes) -> None:
        self.bytes_or_parts = data
