"""The timers of members of consumer, share and streams groups. Mirrors the timer methods of GroupMetadataManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.coordinator_timers import CoordinatorTimers

__all__ = ["MemberTimers"]


class MemberTimers:
    """Session, rebalance, join and sync timers by group and member; each removes its member when it fires.

    `remove(group_id, member_id, reason, epoch)` is the write operation; an epoch other than None limits it to a member
    that is still at this epoch.
    """

    def __init__(
        self, timers: CoordinatorTimers, remove: Callable[[str, str, str, int | None], CoordinatorResult[Any]]
    ) -> None:
        self._timers = timers
        self._remove = remove

    def start_session(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Remove the member unless it sends a heartbeat in time."""
        self._schedule("session", group_id, member_id, timeout_ms, "the member session expired.")

    def start_rebalance(self, group_id: str, member_id: str, epoch: int, timeout_ms: int) -> None:
        """Remove the member unless it revokes partitions or tasks in time."""
        reason = f"it failed to transition from epoch {epoch} within {timeout_ms}ms."
        self._schedule("rebalance", group_id, member_id, timeout_ms, reason, epoch)

    def stop_rebalance(self, group_id: str, member_id: str) -> None:
        """The member has nothing to revoke."""
        self._timers.cancel(_key("rebalance", group_id, member_id))

    def start_join_unless_running(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Remove the classic member unless it rejoins in time."""
        if not self._timers.is_scheduled(_key("join", group_id, member_id)):
            reason = "the classic member failed to join within the rebalance timeout."
            self._schedule("join", group_id, member_id, timeout_ms, reason)

    def stop_join(self, group_id: str, member_id: str) -> None:
        """The classic member has rejoined."""
        self._timers.cancel(_key("join", group_id, member_id))

    def start_sync(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Remove the classic member unless it synchronizes in time."""
        self._schedule("sync", group_id, member_id, timeout_ms, "the member failed to sync within timeout.")

    def stop_sync(self, group_id: str, member_id: str) -> None:
        """The classic member has synchronized."""
        self._timers.cancel(_key("sync", group_id, member_id))

    def stop_all(self, group_id: str, member_id: str) -> None:
        """The member is gone."""
        for kind in ("session", "rebalance", "join", "sync"):
            self._timers.cancel(_key(kind, group_id, member_id))

    def _schedule(
        self, kind: str, group_id: str, member_id: str, timeout_ms: int, reason: str, epoch: int | None = None
    ) -> None:
        self._timers.schedule(
            _key(kind, group_id, member_id),
            timeout_ms,
            lambda: self._remove(group_id, member_id, reason, epoch),
        )


def _key(kind: str, group_id: str, member_id: str) -> str:
    return f"member-{kind}-{group_id}-{member_id}"
