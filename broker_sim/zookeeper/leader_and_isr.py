"""One partition's state in ZooKeeper, and its elections. Mirrors LeaderIsrAndControllerEpoch and Election.

Pure functions of a state, an assignment and the live brokers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

NO_LEADER: Final = -1
LEADER_DURING_DELETE: Final = -2
EPOCH_DURING_DELETE: Final = -2
INITIAL_LEADER_EPOCH: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsr:
    """`zk_version` is the version of the znode, which every conditional write names."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    controller_epoch: int

    def changed(self, *, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
        """A new leader epoch with another leader or ISR."""
        return replace(self, leader=leader, isr=isr, leader_epoch=self.leader_epoch + 1)

    def is_equivalent(self, other: LeaderAndIsr) -> bool:
        """Return True if another state is equal except for its version: so a repeated write finds itself."""
        return replace(self, zk_version=other.zk_version) == other


class ElectionStrategy(Enum):
    """The kind of an election. Mirrors PartitionLeaderElectionStrategy."""

    OFFLINE = auto()
    """The leader has died: the first live replica of the ISR; where it is allowed, any live one."""
    OFFLINE_UNCLEAN = auto()
    """As OFFLINE, but the request allows the election of any live replica."""
    REASSIGN = auto()
    """The first replica of the new assignment that is alive and in sync."""
    PREFERRED = auto()
    """The first replica of the assignment, if it is alive and in sync."""
    CONTROLLED_SHUTDOWN = auto()
    """The first live in-sync replica whose broker does not shut down; the others leave the ISR."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """The new state, the replicas that receive it, and whether the leader was not in the ISR."""

    state: LeaderAndIsr
    recipients: tuple[int, ...]
    unclean: bool = False


def elect(
    strategy: ElectionStrategy,
    *,
    state: LeaderAndIsr,
    replicas: tuple[int, ...],
    is_online: Callable[[int], bool],
    shutting_down: Callable[[int], bool],
    allow_unclean: bool,
) -> Elected | None:
    """Return a leader, None without a candidate. `is_online` counts brokers that shut down as online."""
    live = tuple(
        replica
        for replica in replicas
        if is_online(replica) and (strategy is ElectionStrategy.CONTROLLED_SHUTDOWN or not shutting_down(replica))
    )
    if strategy is ElectionStrategy.CONTROLLED_SHUTDOWN:
        return _elect_without_shutting_down(state, live, shutting_down)
    in_sync = [replica for replica in live if replica in state.isr]
    if strategy is ElectionStrategy.PREFERRED:
        in_sync = [replica for replica in in_sync if replica == replicas[0]]
    if in_sync:
        leader = in_sync[0]
        isr = state.isr
        if strategy in (ElectionStrategy.OFFLINE, ElectionStrategy.OFFLINE_UNCLEAN):
            isr = tuple(replica for replica in state.isr if replica in live)
        return Elected(state=state.changed(leader=leader, isr=isr), recipients=live)
    unclean = allow_unclean and strategy in (ElectionStrategy.OFFLINE, ElectionStrategy.OFFLINE_UNCLEAN)
    if unclean and live:
        return Elected(state=state.changed(leader=live[0], isr=(live[0],)), recipients=live, unclean=True)
    return None


def _elect_without_shutting_down(
    state: LeaderAndIsr, live: tuple[int, ...], shutting_down: Callable[[int], bool]
) -> Elected | None:
    for replica in live:
        if replica in state.isr and not shutting_down(replica):
            isr = tuple(member for member in state.isr if not shutting_down(member))
            return Elected(state=state.changed(leader=replica, isr=isr), recipients=live)
    return None
