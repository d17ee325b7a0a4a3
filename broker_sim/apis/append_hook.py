"""The hook of fault rules between the local append of a Produce and its response."""

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
        """Called when the leader has appended or refused; followers have not confirmed yet."""

    def finished(
        self, results: list[PartitionAppend] | Deferred[list[PartitionAppend]]
    ) -> Deferred[list[PartitionAppend] | NoResponse]:
        """Return the results to respond with, once the replication that acks requires is over."""
