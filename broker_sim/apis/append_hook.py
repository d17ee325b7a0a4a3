"""What a Produce passes between the local append of its records and its response, where a fault rule wants it to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import NoResponse
    from broker_sim.log.append_results import PartitionAppend

__all__ = ["AppendHook"]


class AppendHook(Protocol):
    """Follows the partitions of one Produce."""

    def appended(self, results: list[PartitionAppend]) -> None:
        """The leader has appended, or refused to; followers have not confirmed."""

    def finished(
        self, results: list[PartitionAppend] | Deferred[list[PartitionAppend]]
    ) -> Deferred[list[PartitionAppend] | NoResponse]:
        """Return what is to be responded, once the replication that acks requires is over."""
